/* PNG and JPEG files to bytes of gray or red, green and blue. C, because libpng and libjpeg leave by longjmp. */
#ifndef PANTOUM_DATA_PIXELS_H
#define PANTOUM_DATA_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PT_IMAGE_MESSAGE = 200,
  PT_IMAGE_SIDE = 1 << 15,
  PT_IMAGE_PIXELS = 1 << 26,
  PT_IMAGE_SCANS = 100,            /* of a progressive JPEG */
  PT_IMAGE_DECODER_BYTES = 1 << 28 /* that libjpeg may take beside the pixels */
};

typedef struct pt_image {
  /* Gives room for the pixels, or NULL; called once, when the size is known. */
  uint8_t* (*room)(void* owner, size_t bytes);
  void* owner;
  uint8_t* pixels; /* height x width x channels, in that room */
  uint32_t width, height;
  uint32_t channels;              /* 1 gray; 3 red, green, blue */
  char message[PT_IMAGE_MESSAGE]; /* after a failure: why */
} pt_image;

/* 0 when the image was read whole. `room` and `owner` are the caller's. No side longer than PT_IMAGE_SIDE and no more
 * pixels than PT_IMAGE_PIXELS, which is found out before there is room for any. PNG: 16 bits become 8, palettes colours, transparency is left out. JPEG: gray and YCbCr or RGB. */
int pt_decode_png(const uint8_t* bytes, size_t size, pt_image* image);
int pt_decode_jpeg(const uint8_t* bytes, size_t size, pt_image* image);

#ifdef __cplusplus
}
#endif

#endif
