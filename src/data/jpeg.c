#include <stdio.h>
/* jpeglib.h needs stdio.h before it. */
#include <jpeglib.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "data/pixels.h"

typedef struct manager {
  struct jpeg_error_mgr base; /* first: libjpeg knows it alone */
  jmp_buf back;
  pt_image* image;
} manager;

static void leave(j_common_ptr jpeg) {
  manager* m = (manager*)jpeg->err;
  char text[JMSG_LENGTH_MAX];
  jpeg->err->format_message(jpeg, text);
  snprintf(m->image->message, PT_IMAGE_MESSAGE, "%.*s", PT_IMAGE_MESSAGE - 1, text);
  longjmp(m->back, 1);
}

/* Warnings tell of damage: libjpeg would fill in what is missing. */
static void on_message(j_common_ptr jpeg, int level) {
  if (level < 0) leave(jpeg);
}

static void refuse(j_common_ptr jpeg, const char* message) {
  manager* m = (manager*)jpeg->err;
  snprintf(m->image->message, PT_IMAGE_MESSAGE, "%s", message);
  longjmp(m->back, 1);
}

/* Each scan of a progressive file is a walk over the whole image, however few bytes it has. */
static void on_progress(j_common_ptr jpeg) {
  if (((j_decompress_ptr)jpeg)->input_scan_number > PT_IMAGE_SCANS) refuse(jpeg, "more than 100 scans");
}

static void read_pixels(struct jpeg_decompress_struct* jpeg, const uint8_t* bytes, size_t size, pt_image* image) {
  jpeg_mem_src(jpeg, bytes, (unsigned long)size);
  (void)jpeg_read_header(jpeg, TRUE);
  if (jpeg->num_components != 1 && jpeg->num_components != 3)
    refuse((j_common_ptr)jpeg, "neither gray nor RGB (CMYK?)");
  if (jpeg->image_width > PT_IMAGE_SIDE || jpeg->image_height > PT_IMAGE_SIDE)
    refuse((j_common_ptr)jpeg, "a side of more than 32768 pixels");
  if ((uint64_t)jpeg->image_width * jpeg->image_height > PT_IMAGE_PIXELS)
    refuse((j_common_ptr)jpeg, "more than 67,108,864 pixels");
  jpeg->out_color_space = jpeg->num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  (void)jpeg_start_decompress(jpeg);
  image->width = jpeg->output_width;
  image->height = jpeg->output_height;
  image->channels = (uint32_t)jpeg->output_components;
  const size_t row_bytes = (size_t)image->width * image->channels;
  image->pixels = image->room(image->owner, row_bytes * image->height);
  if (image->pixels == NULL) refuse((j_common_ptr)jpeg, "no memory");
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW row = image->pixels + jpeg->output_scanline * row_bytes;
    (void)jpeg_read_scanlines(jpeg, &row, 1);
  }
  (void)jpeg_finish_decompress(jpeg);
}

int pt_decode_jpeg(const uint8_t* bytes, size_t size, pt_image* image) {
  struct jpeg_decompress_struct jpeg;
  manager m;
  jpeg.err = jpeg_std_error(&m.base);
  m.base.error_exit = leave;
  m.base.emit_message = on_message;
  m.image = image;
  struct jpeg_progress_mgr progress = {.progress_monitor = on_progress};
  volatile int failed = 1;
  if (setjmp(m.back) == 0) {
    jpeg_create_decompress(&jpeg);
    jpeg.mem->max_memory_to_use = PT_IMAGE_DECODER_BYTES;
    jpeg.progress = &progress;
    read_pixels(&jpeg, bytes, size, image);
    failed = 0;
  }
  jpeg_destroy_decompress(&jpeg);
  return failed ? -1 : 0;
}
