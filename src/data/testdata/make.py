"""Makes the pictures and archives of this folder with Pillow and numpy, and what they must be read as (as PPM)."""
import io

import numpy
from PIL import Image

draw = numpy.random.default_rng(3)
ramp = numpy.linspace(0, 255, 13)[None, :, None] * numpy.array([1, 0.5, 0.25]) + numpy.arange(9)[:, None, None] * 7
photo = Image.fromarray(numpy.clip(ramp + draw.integers(0, 40, (9, 13, 3)), 0, 255).astype(numpy.uint8))


def expect(name, image):
    image.save(f"{name}.ppm")


photo.save("rgb.png")
expect("rgb", photo)
alpha = photo.copy()
alpha.putalpha(Image.fromarray(draw.integers(0, 255, (9, 13), dtype=numpy.uint8)))
alpha.save("rgba.png")
expect("rgba", alpha.convert("RGB"))
palette = photo.quantize(7)
palette.save("palette.png")
expect("palette", palette.convert("RGB"))
photo.convert("1").save("bits.png")
expect("bits", photo.convert("1").convert("L"))
deep = numpy.asarray(photo.convert("L")).astype(numpy.uint16) * 256 + 99
Image.fromarray(deep).save("gray16.png")
expect("gray16", Image.fromarray((deep >> 8).astype(numpy.uint8)))
photo.save("photo.jpg", quality=80)
expect("photo", Image.open("photo.jpg").convert("RGB"))
photo.convert("L").save("gray.jpg", quality=80)
expect("gray", Image.open("gray.jpg"))
photo.convert("CMYK").save("cmyk.jpg")
expect("luma", photo.convert("L"))
for width, height in ((5, 4), (20, 30), (13, 5), (1, 1), (14, 9)):
    expect(f"resized_{width}x{height}", photo.resize((width, height), Image.BILINEAR))
x, y = numpy.arange(24, dtype=numpy.float32).reshape(4, 2, 3), numpy.arange(4)
numpy.savez("stored.npz", x_train=x, y_train=y, x_test=x[:1] + 100, y_test=y[:1])
numpy.savez_compressed("deflated.npz", x_train=x, y_train=y)
