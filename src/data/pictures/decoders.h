/* The decoders of one format each (picture.h), for picture.c. `turn` is not for them. */
#ifndef TEQUIO_DATA_PICTURES_DECODERS_H
#define TEQUIO_DATA_PICTURES_DECODERS_H

#include "data/pictures/picture.h"

MUST_USE status decode_jpeg_head(const unsigned char *data, size_t bytes, picture_head *ret, error *err);
MUST_USE status decode_jpeg(const unsigned char *data, size_t bytes, const picture_decoding *how, picture *ret,
                            error *err);
/* Of the picture at least the part *has, which becomes the part that *ret is; pixels beyond what was asked for may be
 * others. NULL: of the whole picture. */
MUST_USE status decode_jpeg_part(const unsigned char *data, size_t bytes, const picture_decoding *how,
                                 picture_box *has, picture *ret, error *err);
MUST_USE status decode_png_head(const unsigned char *data, size_t bytes, picture_head *ret, error *err);
MUST_USE status decode_png(const unsigned char *data, size_t bytes, const picture_decoding *how, picture *ret,
                           error *err);

/* E_CONFIG: libwebp is not here, or the program was built without it. */
MUST_USE status decode_webp_head(const unsigned char *data, size_t bytes, picture_head *ret, error *err);
MUST_USE status decode_webp(const unsigned char *data, size_t bytes, const picture_decoding *how, picture *ret,
                            error *err);

const char *decode_jpeg_version(void);
const char *decode_png_version(void);
const char *decode_webp_version(void);

#endif
