/*
 * Pictures: JPEG by libjpeg-turbo, PNG by libpng, WebP by libwebp, told apart by their first bytes. Pixels have 8 bits
 * a channel, and one channel (grey) or three (red, green, blue):
 *
 *   CMYK and YCCK      become red, green and blue by Pillow's arithmetic, inverted as Adobe writes them
 *   16 bits (PNG)      x / 257, rounded
 *   alpha              is left out, as Pillow's convert("RGB") does; so is what a palette says of it
 *   12 bits (JPEG)     is refused, and so is an animation (WebP)
 *   EXIF's orientation (JPEG) may be carried out
 *
 * Errors: E_DATA says what is wrong with the bytes, also where a decoder would go on with a guess (a picture that ends
 * too early); the caller prepends whose they are. E_NOMEM. E_CONFIG of a WebP: libwebp is not here.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_DATA_PICTURES_PICTURE_H
#define TEQUIO_DATA_PICTURES_PICTURE_H

#include "data/pictures/pixels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PICTURE_CHANNELS = 3, PICTURE_PIXELS_MOST = 1 << 27, PICTURE_SIDE_MOST = 1 << 18 };

typedef enum picture_format { PICTURE_JPEG, PICTURE_PNG, PICTURE_WEBP, PICTURE_FORMATS } picture_format;

/* What a file says before its pixels. */
typedef struct picture_head {
    picture_format format;
    int32_t width, height;          /* before it is turned */
    int32_t channels;               /* of the pixels: 1 or 3 */
    int32_t bits;                   /* of a channel of the file */
    bool is_cmyk;
    bool is_whole;                  /* a WebP, or a JPEG in several scans: much is kept until the last */
    int32_t orientation;            /* EXIF's, 1 to 8; 1: it lies as it is to be seen */
} picture_head;

typedef struct picture_decoding {
    bool turn;                      /* by EXIF's orientation */
    /* A JPEG may be decoded at 1/2, 1/4 or 1/8, while no side gets shorter than this; 0: at its size. */
    int32_t shortest;
} picture_decoding;

MUST_USE status picture_read_head(const unsigned char *data, size_t bytes, picture_head *ret, error *err);
/* picture_fini frees it. */
MUST_USE status picture_decode(const unsigned char *data, size_t bytes, const picture_decoding *how, picture *ret,
                               error *err);

/* Its sides when it is decoded that way. */
void picture_sides(const picture_head *head, const picture_decoding *how, int32_t *ret_width, int32_t *ret_height);

/* The same pixels, but only those of `part` count: *ret_has, which holds it, is what *ret is of the picture. Of a JPEG
 * other rows and columns are not computed, as far as no bit of the part depends on that, and what lies below it is not
 * read: damage there is not seen, but that the file is cut off. `head` is that of the file. */
MUST_USE status picture_decode_part(const unsigned char *data, size_t bytes, const picture_head *head,
                                    const picture_decoding *how, const picture_box *part, picture *ret,
                                    picture_box *ret_has, error *err);

/* Turns it as EXIF's number says, 2 to 8. E_NOMEM. */
MUST_USE status picture_turn(picture *p, int32_t orientation, error *err);

/* What decoding it takes of memory, at most: its pixels, and what they are made from. */
size_t picture_decoding_bytes(const picture_head *head, const picture_decoding *how);

const char *picture_format_name(picture_format format);
/* The format that the end of a file's name stands for, -1 for none of these; *ret_other, which may be NULL: it stands
 * for pictures of another kind, as ".gif" does. */
int picture_format_of_name(const char *path, bool *ret_other);

/* Of the library that decodes it. */
const char *picture_library(picture_format format);
const char *picture_library_version(picture_format format);

#endif
