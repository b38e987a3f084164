#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/pixels.h"

/* What libpng's callbacks see. */
typedef struct reading {
  const uint8_t* bytes;
  size_t left;
  pt_image* image;
  png_bytep* rows;
} reading;

static void on_error(png_structp png, png_const_charp message) {
  const reading* r = (const reading*)png_get_error_ptr(png);
  snprintf(r->image->message, PT_IMAGE_MESSAGE, "%s", message);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

static void take(png_structp png, png_bytep out, size_t count) {
  reading* r = (reading*)png_get_io_ptr(png);
  if (count > r->left) png_error(png, "the file ends too early");
  memcpy(out, r->bytes, count);
  r->bytes += count;
  r->left -= count;
}

/* Everything to 8 bits a sample, gray or RGB. */
static void set_transformations(png_structp png, png_infop info) {
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  (void)png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

static void read_pixels(png_structp png, png_infop info, reading* r) {
  pt_image* image = r->image;
  png_set_user_limits(png, PT_IMAGE_SIDE, PT_IMAGE_SIDE);
  png_set_read_fn(png, r, take);
  png_read_info(png, info);
  if ((uint64_t)png_get_image_width(png, info) * png_get_image_height(png, info) > PT_IMAGE_PIXELS)
    png_error(png, "more than 67,108,864 pixels");
  set_transformations(png, info);
  image->width = png_get_image_width(png, info);
  image->height = png_get_image_height(png, info);
  image->channels = png_get_channels(png, info);
  if (image->channels != 1 && image->channels != 3) png_error(png, "neither gray nor colour");
  const size_t row_bytes = (size_t)image->width * image->channels;
  if (png_get_rowbytes(png, info) != row_bytes) png_error(png, "a depth that is not understood");
  image->pixels = image->room(image->owner, row_bytes * image->height);
  r->rows = malloc(image->height * sizeof *r->rows);
  if (image->pixels == NULL || r->rows == NULL) png_error(png, "no memory");
  for (size_t row = 0; row < image->height; ++row) r->rows[row] = image->pixels + row * row_bytes;
  png_read_image(png, r->rows);
  png_read_end(png, NULL);
}

int pt_decode_png(const uint8_t* bytes, size_t size, pt_image* image) {
  reading r = {bytes, size, image, NULL};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning);
  png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
  if (info == NULL) {
    snprintf(image->message, PT_IMAGE_MESSAGE, "no memory");
    png_destroy_read_struct(&png, NULL, NULL);
    return -1;
  }
  volatile int failed = 1;
  if (setjmp(png_jmpbuf(png)) == 0) {
    read_pixels(png, info, &r);
    failed = 0;
  }
  png_destroy_read_struct(&png, &info, NULL);
  free(r.rows);
  return failed ? -1 : 0;
}
