/* See picture.h. */
#include "data/pictures/picture.h"

#include "common/base/alloc.h"
#include "data/pictures/decoders.h"

#include <string.h>
#include <strings.h>

/* --- formats --- */

static const struct {
    const char *name, *mark;
    size_t n_mark, at;
    const char *library;
    const char *(*version)(void);
    status (*head)(const unsigned char *data, size_t bytes, picture_head *ret, error *err);
    status (*decode)(const unsigned char *data, size_t bytes, const picture_decoding *how, picture *ret, error *err);
    /* *has is the part that is asked for, and becomes the one that *ret is; NULL: all is decoded */
    status (*decode_part)(const unsigned char *data, size_t bytes, const picture_decoding *how, picture_box *has,
                          picture *ret, error *err);
} formats[] = {
    [PICTURE_JPEG] = {"JPEG", "\xff\xd8\xff", 3, 0, "libjpeg-turbo", decode_jpeg_version, decode_jpeg_head,
                      decode_jpeg, decode_jpeg_part},
    [PICTURE_PNG] = {"PNG", "\x89PNG\r\n\x1a\n", 8, 0, "libpng", decode_png_version, decode_png_head, decode_png,
                     NULL},
    [PICTURE_WEBP] = {"WebP", "WEBP", 4, 8, "libwebp", decode_webp_version, decode_webp_head, decode_webp, NULL},
};

/* What else people keep pictures in, by what stands at a byte. */
static const struct {
    const char *name, *mark;
    size_t at;
} others[] = {
    {"GIF", "GIF8", 0}, {"BMP", "BM", 0}, {"TIFF", "II*", 0}, {"TIFF", "MM", 0},
    {"HEIF or AVIF", "ftyp", 4}, {"HTML page", "<!DOCTYPE", 0}, {"HTML page", "<html", 0},
};

static const struct {
    const char *end;
    int format;
} names[] = {
    {".jpg", PICTURE_JPEG}, {".jpeg", PICTURE_JPEG}, {".png", PICTURE_PNG}, {".webp", PICTURE_WEBP}, {".gif", -1},
    {".bmp", -1},           {".tif", -1},            {".tiff", -1},         {".ppm", -1},  {".pgm", -1},
    {".heic", -1},          {".avif", -1},
};

const char *picture_format_name(picture_format format)
{
    return formats[format].name;
}

const char *picture_library(picture_format format)
{
    return formats[format].library;
}

const char *picture_library_version(picture_format format)
{
    return formats[format].version();
}

int picture_format_of_name(const char *path, bool *ret_other)
{
    size_t n = strlen(path), i = 0;
    for (; i < COUNT_OF(names); i++)
        if (n > strlen(names[i].end) && strcasecmp(path + n - strlen(names[i].end), names[i].end) == 0)
            break;
    int format = i < COUNT_OF(names) ? names[i].format : -1;
    if (ret_other)
        *ret_other = i < COUNT_OF(names) && format < 0;
    return format;
}

static status fail_format(const unsigned char *data, size_t bytes, error *err)
{
    if (bytes == 0)
        return FAIL(err, E_DATA, "is empty");
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        size_t n = strlen(others[i].mark);
        if (bytes >= others[i].at + n && memcmp(data + others[i].at, others[i].mark, n) == 0)
            return FAIL(err, E_DATA, "is a %s by its first bytes; JPEG, PNG and WebP are read", others[i].name);
    }
    return FAIL(err, E_DATA, "is no JPEG, PNG or WebP by its first bytes");
}

static status find_format(const unsigned char *data, size_t bytes, size_t *ret, error *err)
{
    for (*ret = 0; *ret < COUNT_OF(formats); ++*ret)
        if (bytes >= formats[*ret].at + formats[*ret].n_mark &&
            memcmp(data + formats[*ret].at, formats[*ret].mark, formats[*ret].n_mark) == 0)
            return OK;
    return fail_format(data, bytes, err);
}

/* --- pixels --- */

/* EXIF's table, as mirrors of both axes and their exchange. */
static bool lies(int32_t orientation)
{
    return orientation >= 5;
}

static bool is_mirrored_in_x(int32_t orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

static bool is_mirrored_in_y(int32_t orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

/* Which pixel of `in` comes to (x, y) once it is turned. */
static const unsigned char *source_of(const picture *in, int32_t orientation, int32_t x, int32_t y)
{
    int32_t from_x = lies(orientation) ? y : x, from_y = lies(orientation) ? x : y;
    if (is_mirrored_in_x(orientation))
        from_x = in->width - 1 - from_x;
    if (is_mirrored_in_y(orientation))
        from_y = in->height - 1 - from_y;
    return in->pixels + ((size_t)from_y * (size_t)in->width + (size_t)from_x) * (size_t)in->channels;
}

static picture_box with_axes_exchanged(picture_box b)
{
    return (picture_box){b.y, b.x, b.height, b.width};
}

static picture_box mirrored(picture_box b, int32_t orientation, int32_t width, int32_t height)
{
    if (is_mirrored_in_x(orientation))
        b.x = width - b.x - b.width;
    if (is_mirrored_in_y(orientation))
        b.y = height - b.y - b.height;
    return b;
}

/* Of the picture that is not turned yet, width x height, what comes to the part `b` of the turned one; and back. */
static picture_box before_turning(picture_box b, int32_t orientation, int32_t width, int32_t height)
{
    return mirrored(lies(orientation) ? with_axes_exchanged(b) : b, orientation, width, height);
}

static picture_box after_turning(picture_box b, int32_t orientation, int32_t width, int32_t height)
{
    b = mirrored(b, orientation, width, height);
    return lies(orientation) ? with_axes_exchanged(b) : b;
}

status picture_turn(picture *p, int32_t orientation, error *err)
{
    picture turned = {.width = lies(orientation) ? p->height : p->width,
                      .height = lies(orientation) ? p->width : p->height,
                      .channels = p->channels};
    TRY(picture_make_room(&turned, err));
    unsigned char *to = turned.pixels;
    for (int32_t y = 0; y < turned.height; y++)
        for (int32_t x = 0; x < turned.width; x++, to += p->channels)
            memcpy(to, source_of(p, orientation, x, y), (size_t)p->channels);
    picture_fini(p);
    *p = turned;
    return OK;
}

/* --- both --- */

static status check_size(const picture_head *h, error *err)
{
    bool fits = h->width <= PICTURE_SIDE_MOST && h->height <= PICTURE_SIDE_MOST &&
                (int64_t)h->width * h->height <= PICTURE_PIXELS_MOST;
    return fits ? OK
                : FAIL(err, E_DATA, "has %d x %d pixels; %d are the most in all, and %d of a side", h->width, h->height,
                       PICTURE_PIXELS_MOST, PICTURE_SIDE_MOST);
}

status picture_read_head(const unsigned char *data, size_t bytes, picture_head *ret, error *err)
{
    size_t format;
    picture_head head = {.orientation = 1};
    TRY(find_format(data, bytes, &format, err));
    head.format = (picture_format)format;
    status st = formats[format].head(data, bytes, &head, err);
    if (st == E_DATA)
        error_prepend(err, "is a damaged %s", formats[format].name);
    if (st != OK)
        return st;
    TRY(check_size(&head, err));
    *ret = head;
    return OK;
}

/* Of the picture that is not turned yet. */
static void scaled_sides(const picture_head *head, const picture_decoding *how, int32_t *ret_width,
                         int32_t *ret_height)
{
    int32_t eighths =
        head->format == PICTURE_JPEG ? picture_eighths(head->width, head->height, how->shortest) : 8;
    *ret_width = (int32_t)(((int64_t)head->width * eighths + 7) / 8);
    *ret_height = (int32_t)(((int64_t)head->height * eighths + 7) / 8);
}

static int32_t orientation_of(const picture_head *head, const picture_decoding *how)
{
    return how->turn ? head->orientation : 1;
}

void picture_sides(const picture_head *head, const picture_decoding *how, int32_t *ret_width, int32_t *ret_height)
{
    if (lies(orientation_of(head, how)))
        scaled_sides(head, how, ret_height, ret_width);
    else
        scaled_sides(head, how, ret_width, ret_height);
}

size_t picture_decoding_bytes(const picture_head *head, const picture_decoding *how)
{
    size_t channels = head->is_cmyk ? PICTURE_CHANNELS + 1 : (size_t)head->channels;
    size_t all = (size_t)head->width * (size_t)head->height * channels;
    int32_t width, height;
    scaled_sides(head, how, &width, &height);
    size_t pixels = (size_t)width * (size_t)height * channels;
    bool is_turned = orientation_of(head, how) > 1;
    return pixels * (is_turned ? 2 : 1) + (head->is_whole ? all * sizeof(int16_t) : 0);
}

/* How the decoder's status ends. */
static status end_decoding(status st, const picture_head *head, const picture_decoding *how, picture *p, error *err)
{
    int32_t orientation = orientation_of(head, how);
    if (st == E_DATA)
        error_prepend(err, "is a damaged %s", formats[head->format].name);
    if (st == OK && orientation > 1)
        st = picture_turn(p, orientation, err);
    if (st != OK)
        picture_fini(p);
    return st;
}

static status decode_whole(const unsigned char *data, size_t bytes, const picture_head *head,
                           const picture_decoding *how, picture *ret, error *err)
{
    picture p = {.pixels = NULL};
    TRY(end_decoding(formats[head->format].decode(data, bytes, how, &p, err), head, how, &p, err));
    *ret = p;
    return OK;
}

status picture_decode(const unsigned char *data, size_t bytes, const picture_decoding *how, picture *ret,
                      error *err)
{
    picture_head head;
    TRY(picture_read_head(data, bytes, &head, err));
    return decode_whole(data, bytes, &head, how, ret, err);
}

status picture_decode_part(const unsigned char *data, size_t bytes, const picture_head *head,
                           const picture_decoding *how, const picture_box *part, picture *ret, picture_box *ret_has,
                           error *err)
{
    int32_t width, height, orientation = orientation_of(head, how);
    picture p = {.pixels = NULL};
    picture_sides(head, how, &width, &height);
    if (!formats[head->format].decode_part || (part->width == width && part->height == height)) {
        *ret_has = (picture_box){0, 0, width, height};
        return decode_whole(data, bytes, head, how, ret, err);
    }
    scaled_sides(head, how, &width, &height);
    picture_box has = before_turning(*part, orientation, width, height);
    status st = formats[head->format].decode_part(data, bytes, how, &has, &p, err);
    TRY(end_decoding(st, head, how, &p, err));
    *ret_has = after_turning(has, orientation, width, height);
    *ret = p;
    return OK;
}
