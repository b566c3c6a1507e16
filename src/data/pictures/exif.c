/* See exif.h. The marker is "Exif", two zero bytes, and a TIFF file, whose first directory has the tag. */
#include "data/pictures/exif.h"

#include <stdbool.h>
#include <string.h>

enum { SHORT = 3, TAG_ORIENTATION = 0x0112, ENTRY = 12, HEAD = 8 };

typedef struct tiff {
    const unsigned char *data;
    size_t bytes;
    bool is_big_endian;
} tiff;

/* `n` bytes at `at`, which are there. */
static uint32_t number(const tiff *t, size_t at, size_t n)
{
    uint32_t x = 0;
    for (size_t i = 0; i < n; i++)
        x = x << 8 | t->data[at + (t->is_big_endian ? i : n - 1 - i)];
    return x;
}

static int32_t find_in_directory(const tiff *t, size_t at)
{
    if (at > t->bytes - 2)
        return 0;
    size_t n = number(t, at, 2);
    for (at += 2; n-- > 0 && at + ENTRY <= t->bytes; at += ENTRY) {
        if (number(t, at, 2) != TAG_ORIENTATION)
            continue;
        uint32_t value = number(t, at + 8, 2);
        return number(t, at + 2, 2) == SHORT && value >= 1 && value <= 8 ? (int32_t)value : 0;
    }
    return 0;
}

int32_t exif_orientation(const unsigned char *marker, size_t bytes)
{
    static const char mark[6] = "Exif\0";
    if (bytes < sizeof mark + HEAD || memcmp(marker, mark, sizeof mark) != 0)
        return 0;
    tiff t = {.data = marker + sizeof mark, .bytes = bytes - sizeof mark};
    t.is_big_endian = memcmp(t.data, "MM\0*", 4) == 0;
    if (!t.is_big_endian && memcmp(t.data, "II*", 4) != 0)
        return 0;
    return find_in_directory(&t, number(&t, 4, 4));
}
