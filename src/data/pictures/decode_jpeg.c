/* JPEG by libjpeg-turbo (picture.h), with its defaults: the accurate integer transform, smooth upsampling. */
#include "data/pictures/decoders.h"

#include "data/pictures/exif.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

/* A progressive picture of more scans is made to keep a decoder busy. */
enum { SCANS_MOST = 500, CMYK = 4, EXIF_MARKER = JPEG_APP0 + 1, MARKER_MOST = 0xffff };

/* Upsampling looks at neighbours, and takes the edge of what is decoded for that of the picture: so many more rows and
 * columns are decoded, a unit of blocks. */
enum { MARGIN = 2 * DCTSIZE };

typedef struct decoding {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    char why[JMSG_LENGTH_MAX];
    unsigned char *row;             /* of a CMYK picture; free() */
} decoding;

/* --- what libjpeg calls --- */

static _Noreturn void give_up(j_common_ptr info)
{
    decoding *d = (decoding *)info->client_data;
    info->err->format_message(info, d->why);
    longjmp(d->failed, 1);
}

/* Those that make no difference to the pixels. */
static bool is_harmless(int code)
{
    return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR;
}

/* Level -1 is what libjpeg goes on after with a guess. */
static void take_message(j_common_ptr info, int level)
{
    if (level < 0 && !is_harmless(info->err->msg_code))
        give_up(info);
}

static void look_at_progress(j_common_ptr info)
{
    decoding *d = (decoding *)info->client_data;
    if (d->info.input_scan_number <= SCANS_MOST)
        return;
    snprintf(d->why, sizeof d->why, "it has more than %d scans", SCANS_MOST);
    longjmp(d->failed, 1);
}

/* --- heads --- */

static void begin(decoding *d, const unsigned char *data, size_t bytes)
{
    d->info.err = jpeg_std_error(&d->errors);
    d->errors.error_exit = give_up;
    d->errors.emit_message = take_message;
    d->info.client_data = d;
    jpeg_create_decompress(&d->info);
    d->progress.progress_monitor = look_at_progress;
    d->info.progress = &d->progress;
    jpeg_save_markers(&d->info, EXIF_MARKER, MARKER_MOST);
    jpeg_mem_src(&d->info, data, (unsigned long)bytes);
    jpeg_read_header(&d->info, TRUE);
}

static int32_t orientation_of(const decoding *d)
{
    for (jpeg_saved_marker_ptr m = d->info.marker_list; m; m = m->next) {
        int32_t found = exif_orientation(m->data, m->data_length);
        if (found)
            return found;
    }
    return 1;
}

static bool is_cmyk(const decoding *d)
{
    return d->info.jpeg_color_space == JCS_CMYK || d->info.jpeg_color_space == JCS_YCCK;
}

static int channels_of(const decoding *d)
{
    return d->info.jpeg_color_space == JCS_GRAYSCALE ? 1 : PICTURE_CHANNELS;
}

static void tell_head(decoding *d, picture_head *ret)
{
    ret->width = (int32_t)d->info.image_width;
    ret->height = (int32_t)d->info.image_height;
    ret->channels = channels_of(d);
    ret->bits = d->info.data_precision;
    ret->is_cmyk = is_cmyk(d);
    ret->is_whole = jpeg_has_multiple_scans(&d->info);
    ret->orientation = orientation_of(d);
}

/* --- pixels --- */

static void choose_scale(decoding *d, int32_t shortest)
{
    int32_t width = (int32_t)d->info.image_width, height = (int32_t)d->info.image_height;
    d->info.scale_num = (unsigned)picture_eighths(width, height, shortest);
    d->info.scale_denom = 8;
}

/* x * y / 255, rounded, as Pillow has it */
static int scaled_product(int x, int y)
{
    int z = x * y + 128;
    return ((z >> 8) + z) >> 8;
}

/* Adobe writes 255 for no ink. */
static void take_cmyk_row(const unsigned char *in, int32_t width, unsigned char *out)
{
    for (int32_t x = 0; x < width; x++, in += CMYK, out += PICTURE_CHANNELS)
        for (int c = 0; c < PICTURE_CHANNELS; c++)
            out[c] = (unsigned char)(in[3] - scaled_product(255 - in[c], in[3]));
}

/* Of a file that is not read to its end, whether it has one; no byte of a picture looks like that. */
static void look_for_the_end(decoding *d)
{
    const JOCTET *first = d->info.src->next_input_byte, *at = first + d->info.src->bytes_in_buffer;
    bool is_there = d->info.unread_marker == JPEG_EOI;
    for (; !is_there && at - first >= 2; at--)
        is_there = at[-2] == 0xff && at[-1] == JPEG_EOI;
    if (!is_there)
        WARNMS(&d->info, JWRN_JPEG_EOF);
}

static void read_rows(decoding *d, picture *p)
{
    size_t stride = (size_t)p->width * (size_t)p->channels;
    unsigned char *to = p->pixels;
    for (int32_t y = 0; y < p->height; y++, to += stride) {
        JSAMPROW row = d->row ? d->row : to;
        jpeg_read_scanlines(&d->info, &row, 1);
        if (d->row)
            take_cmyk_row(d->row, p->width, to);
    }
    if (d->info.output_scanline == d->info.output_height)
        jpeg_finish_decompress(&d->info);
    else if (!jpeg_has_multiple_scans(&d->info))
        look_for_the_end(d);
}

/* Those for which it was tried (tests/unit/data/jpeg_part_test.c). */
static bool is_sampled_as_usual(const decoding *d)
{
    const jpeg_component_info *c = d->info.comp_info;
    if (d->info.num_components == 1)
        return c[0].h_samp_factor == 1 && c[0].v_samp_factor == 1;
    bool is_plain = d->info.num_components == PICTURE_CHANNELS && c[0].h_samp_factor <= 2 && c[0].v_samp_factor <= 2;
    for (int i = 1; is_plain && i < PICTURE_CHANNELS; i++)
        is_plain = c[i].h_samp_factor == 1 && c[i].v_samp_factor == 1;
    return is_plain;
}

/* Where scans are missing, libjpeg smooths blocks by those around them. */
static bool has_all_scans(const decoding *d)
{
    for (int i = 0; d->info.coef_bits && i < d->info.num_components; i++)
        for (int k = 0; k < DCTSIZE2; k++)
            if (d->info.coef_bits[i][k] != 0)
                return false;
    return true;
}

/* Leaves out the columns and the rows before the part, but for some at its edges; *has becomes what is read. */
static void leave_out(decoding *d, picture_box *has)
{
    JDIMENSION all = d->info.output_width, end = (JDIMENSION)(has->x + has->width) + MARGIN;
    JDIMENSION x = has->x > MARGIN ? (JDIMENSION)has->x - MARGIN : 0, width = (end < all ? end : all) - x;
    if (width < all)
        jpeg_crop_scanline(&d->info, &x, &width);
    has->x = (int32_t)x;
    has->width = (int32_t)width;
    if (has->y > MARGIN) {
        jpeg_skip_scanlines(&d->info, (JDIMENSION)has->y - MARGIN);
        has->height += MARGIN;
        has->y -= MARGIN;
    } else {
        has->height += has->y;
        has->y = 0;
    }
}

/* `has` as in decode_jpeg_part; NULL: the whole picture. */
static status read_pixels(decoding *d, const picture_decoding *how, picture_box *has, picture *ret, error *err)
{
    choose_scale(d, how->shortest);
    d->info.out_color_space = is_cmyk(d) ? JCS_CMYK : channels_of(d) == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&d->info);
    picture_box all = {0, 0, (int32_t)d->info.output_width, (int32_t)d->info.output_height};
    if (has && is_sampled_as_usual(d) && has_all_scans(d))
        leave_out(d, has);
    else if (has)
        *has = all;
    ret->width = has ? has->width : all.width;
    ret->height = has ? has->height : all.height;
    ret->channels = channels_of(d);
    TRY(picture_make_room(ret, err));
    if (is_cmyk(d)) {
        d->row = malloc((size_t)ret->width * CMYK);
        if (!d->row)
            return FAIL(err, E_NOMEM, "a row of a picture");
    }
    read_rows(d, ret);
    return OK;
}

/* --- both --- */

static void end(decoding *d)
{
    jpeg_destroy_decompress(&d->info);
    free(d->row);
}

status decode_jpeg_head(const unsigned char *data, size_t bytes, picture_head *ret, error *err)
{
    decoding d = {.row = NULL};
    if (setjmp(d.failed)) {
        end(&d);
        return FAIL(err, E_DATA, "%s", d.why);
    }
    begin(&d, data, bytes);
    tell_head(&d, ret);
    end(&d);
    return OK;
}

status decode_jpeg_part(const unsigned char *data, size_t bytes, const picture_decoding *how, picture_box *has,
                        picture *ret, error *err)
{
    decoding d = {.row = NULL};
    if (setjmp(d.failed)) {
        end(&d);
        return FAIL(err, E_DATA, "%s", d.why);
    }
    begin(&d, data, bytes);
    status st = read_pixels(&d, how, has, ret, err);
    end(&d);
    return st;
}

status decode_jpeg(const unsigned char *data, size_t bytes, const picture_decoding *how, picture *ret, error *err)
{
    return decode_jpeg_part(data, bytes, how, NULL, ret, err);
}

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

/* libjpeg's interface does not tell: that of the headers. */
const char *decode_jpeg_version(void)
{
    return TEXT_OF(LIBJPEG_TURBO_VERSION);
}
