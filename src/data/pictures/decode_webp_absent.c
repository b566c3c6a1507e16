/* Without libwebp's headers at build time (decoders.h). */
#include "data/pictures/decoders.h"

status decode_webp_head(const unsigned char *data, size_t bytes, picture_head *ret, error *err)
{
    (void)data;
    (void)bytes;
    (void)ret;
    return FAIL(err, E_CONFIG, "a WebP is read by libwebp, whose headers were not there when this program was built; "
                               "Debian has them in libwebp-dev");
}

status decode_webp(const unsigned char *data, size_t bytes, const picture_decoding *how, picture *ret, error *err)
{
    (void)how;
    (void)ret;
    return decode_webp_head(data, bytes, NULL, err);
}

const char *decode_webp_version(void)
{
    return "none";
}
