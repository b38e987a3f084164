"""Changes of bytes and of texts, as hostile files have them. Every generator of files takes the random numbers and never ends."""

EXTREMES = (0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 1 << 24, 0x7fffffff, 0x80000000, 0xffffffff, (1 << 62), (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def changed(draw, data):
    """Anywhere: a bit, a byte, a number of 2 to 8 bytes in either order, a piece away, twice, or moved."""
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        at, kind = draw.randrange(len(data) + 1), draw.randrange(7)
        near_start = draw.randrange(min(len(data), 128) + 1)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << draw.randrange(8)
        elif kind == 1 and data:
            data[near_start % len(data)] = draw.choice((0, 1, 0x7f, 0x80, 0xff, draw.randrange(256)))
        elif kind in (2, 3):
            size = draw.choice((2, 4, 8))
            number = draw.choice(EXTREMES) & (1 << 8 * size) - 1
            place = draw.choice((at, near_start, max(0, len(data) - draw.randrange(1, 80))))
            data[place:place + size] = number.to_bytes(size, draw.choice(("little", "big")))
        elif kind == 4:
            del data[at:]
        elif kind == 5:
            del data[at:at + draw.randrange(1, 16)]
        else:
            data[at:at] = data[at:at + draw.randrange(1, 64)] * draw.choice((1, 2, 200))
    return bytes(data)


def changed_text(draw, text):
    """A text whose numbers, words and brackets are others."""
    numbers = ["-1", "0", "1e999", "-1e999", "NaN", "1" + "0" * 400, "9223372036854775808", "18446744073709551616", "0.5", "true", "null", '""', '"x"', "[]", "{}",
               "[" * 200 + "]" * 200, "1e-320", "4294967296", "2147483648"]
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(text) + 1)
        digits = [each for each in range(len(text)) if text[each].isdigit()]
        kind = draw.randrange(5)
        if kind <= 1 and digits:
            first = last = draw.choice(digits)
            while last < len(text) and (text[last].isdigit() or text[last] in ".e-+"):
                last += 1
            text = text[:first] + draw.choice(numbers) + text[last:]
        elif kind == 2:
            text = text[:at] + text[at + draw.randrange(1, 40):]
        elif kind == 3:
            text = text[:at] + text[at:at + 200] * draw.choice((1, 3)) + text[at:]
        else:
            text = text[:at] + draw.choice(("{", "}", "[", "]", '"', ",", ":", "\\", "\0", "\x1b", "\ud7ff", "=", ".", "#", "\n", "-", "'''")) + text[at:]
    return text
