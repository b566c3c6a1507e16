/* See guess.h. */
#include "data/index/guess.h"

#include "common/base/hash.h"
#include "data/index/archive.h"
#include "data/index/shards.h"

#include <string.h>
#include <sys/stat.h>

enum { HEAD = 512 }; /* of a file: as much as tells an archive */

static bool guess_kind(const unsigned char *p, size_t n, record_kind *ret)
{
    uint32_t checksum = 0;
    bool is_tfrecord = n >= 12;
    if (is_tfrecord) {
        memcpy(&checksum, p + 8, sizeof checksum);
        is_tfrecord = checksum == crc32c_masked(p, 8);
    }
    while (n > 0 && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++, n--;
    *ret = is_tfrecord ? RECORD_TFRECORD : RECORD_LINES;
    return is_tfrecord || (n > 0 && *p == '{');
}

/* The first bytes of a file, inflated: data of another kind are not inflated whole to be told that they are. */
static bool read_head(const char *path, unsigned char ret[HEAD], size_t *ret_n)
{
    fs_map map;
    gunzip *z = NULL;
    if (fs_map_open(path, &map, NULL) != OK)
        return false;
    *ret_n = map.bytes < HEAD ? map.bytes : HEAD;
    if (map.bytes)
        memcpy(ret, map.data, *ret_n);
    bool good = true;
    if (gunzip_is_gzip(map.data, map.bytes))
        good = gunzip_open(map.data, map.bytes, (packing){.kind = PACKING_GZIP}, path, &z, NULL) == OK &&
               gunzip_read(z, ret, HEAD, ret_n, NULL) == OK;
    gunzip_close(&z);
    fs_map_close(&map);
    return good;
}

bool records_guess(const char *path, record_kind *ret)
{
    unsigned char head[HEAD];
    size_t n = 0;
    struct stat info;
    bool is_file = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    if (is_file && !read_head(path, head, &n))
        return false;
    if (is_file && archive_kind_of(head, n) == ARCHIVE_NONE)
        return guess_kind(head, n, ret);
    shards s;
    if (shards_open(path, false, &s, NULL) != OK)
        return false;
    size_t first = 0;
    while (first < s.n && s.at[first].source.bytes == 0)
        first++;
    bool found = first < s.n && guess_kind(s.at[first].source.data, s.at[first].source.bytes, ret);
    shards_close(&s);
    return found;
}
