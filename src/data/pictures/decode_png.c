/* PNG by libpng (picture.h). */
#include "data/pictures/decoders.h"

#include "common/base/alloc.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

typedef struct decoding {
    png_structp png;
    png_infop info;
    const unsigned char *at;
    size_t left;
    jmp_buf failed;
    char why[160];
    png_bytepp rows;                /* free() */
} decoding;

/* --- what libpng calls --- */

static _Noreturn void give_up(png_structp png, png_const_charp why)
{
    decoding *d = png_get_error_ptr(png);
    snprintf(d->why, sizeof d->why, "%s", why);
    longjmp(d->failed, 1);
}

/* Of what is not about pixels. */
static void pass_over(png_structp png, png_const_charp what)
{
    (void)png;
    (void)what;
}

static void hand_over(png_structp png, png_bytep to, size_t n)
{
    decoding *d = png_get_io_ptr(png);
    if (n > d->left)
        png_error(png, "it ends too early");
    memcpy(to, d->at, n);
    d->at += n;
    d->left -= n;
}

/* --- */

static status begin(decoding *d, error *err)
{
    d->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, d, give_up, pass_over);
    d->info = d->png ? png_create_info_struct(d->png) : NULL;
    return d->info ? OK : FAIL(err, E_NOMEM, "a decoder of PNG");
}

static void end(decoding *d)
{
    png_destroy_read_struct(&d->png, &d->info, NULL);
    free(d->rows);
}

static void read_head(decoding *d, picture_head *ret)
{
    png_set_read_fn(d->png, d, hand_over);
    png_read_info(d->png, d->info);
    ret->width = (int32_t)png_get_image_width(d->png, d->info);
    ret->height = (int32_t)png_get_image_height(d->png, d->info);
    ret->channels = png_get_color_type(d->png, d->info) & PNG_COLOR_MASK_COLOR ? PICTURE_CHANNELS : 1;
    ret->bits = png_get_bit_depth(d->png, d->info);
}

/* Whatever it is, to grey or to red, green and blue of 8 bits. */
static void ask_for_bytes(decoding *d)
{
    png_byte type = png_get_color_type(d->png, d->info);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(d->png);
    if (type == PNG_COLOR_TYPE_GRAY)
        png_set_expand_gray_1_2_4_to_8(d->png);
    png_set_scale_16(d->png);
    png_set_strip_alpha(d->png);
    png_set_interlace_handling(d->png);
    png_read_update_info(d->png, d->info);
}

static status read_pixels(decoding *d, picture *ret, error *err)
{
    picture_head head;
    read_head(d, &head);
    ret->width = head.width;
    ret->height = head.height;
    ret->channels = head.channels;
    ask_for_bytes(d);
    size_t stride = (size_t)ret->width * (size_t)ret->channels;
    if (png_get_rowbytes(d->png, d->info) != stride)
        png_error(d->png, "its rows have another length than its head says");
    TRY(picture_make_room(ret, err));
    d->rows = calloc((size_t)ret->height, sizeof *d->rows);
    if (!d->rows)
        return FAIL(err, E_NOMEM, "the rows of a picture");
    for (size_t y = 0; y < (size_t)ret->height; y++)
        d->rows[y] = ret->pixels + y * stride;
    png_read_image(d->png, d->rows);
    png_read_end(d->png, NULL);
    return OK;
}

status decode_png_head(const unsigned char *data, size_t bytes, picture_head *ret, error *err)
{
    decoding d = {.at = data, .left = bytes};
    if (setjmp(d.failed)) {
        end(&d);
        return FAIL(err, E_DATA, "%s", d.why);
    }
    status st = begin(&d, err);
    if (st == OK)
        read_head(&d, ret);
    end(&d);
    return st;
}

status decode_png(const unsigned char *data, size_t bytes, const picture_decoding *how, picture *ret, error *err)
{
    (void)how;
    decoding d = {.at = data, .left = bytes};
    if (setjmp(d.failed)) {
        end(&d);
        return FAIL(err, E_DATA, "%s", d.why);
    }
    status st = begin(&d, err);
    if (st == OK)
        st = read_pixels(&d, ret, err);
    end(&d);
    return st;
}

const char *decode_png_version(void)
{
    return png_get_libpng_ver(NULL);
}
