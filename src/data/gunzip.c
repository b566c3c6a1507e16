/* See gunzip.h. zlib counts in 32 bits, so input and output are handed over in spans below 1 GB. */
#include "data/gunzip.h"

#include "common/base/alloc.h"
#include "common/base/read_progress.h"

#include <stdlib.h>
#include <zlib.h>

enum { SPAN = 1 << 30, GZIP_WRAPPER = 16 + MAX_WBITS, NO_WRAPPER = -MAX_WBITS, CHUNK = 1 << 16 };

struct gunzip {
    z_stream z;
    const unsigned char *data;
    size_t bytes, fed; /* data[0 .. fed) has been given to zlib */
    size_t inflated;
    bool member_done;
    packing how;
    uint32_t checksum; /* of what was inflated; of PACKING_DEFLATE */
    const char *origin;
};

bool gunzip_is_gzip(const void *data, size_t bytes)
{
    const unsigned char *p = data;
    return bytes >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

size_t gunzip_limit(size_t bytes)
{
    /* Deflate spends at least one bit on a match of at most 258 bytes and one on its distance:
     * 1032 to 1, and at least 18 bytes go to the wrapper. */
    size_t limit;
    return size_mul(bytes, 1032, &limit) ? limit : SIZE_MAX;
}

status gunzip_open(const void *data, size_t bytes, packing how, const char *origin, gunzip **ret, error *err)
{
    gunzip *g = xcalloc(1, sizeof *g);
    g->data = data;
    g->bytes = bytes;
    g->origin = origin;
    g->how = how;
    if (inflateInit2(&g->z, how.kind == PACKING_DEFLATE ? NO_WRAPPER : GZIP_WRAPPER) != Z_OK) {
        free(g);
        return FAIL(err, E_NOMEM, "'%s': zlib cannot start to inflate", origin);
    }
    *ret = g;
    return OK;
}

void gunzip_close(gunzip **g)
{
    if (!*g)
        return;
    inflateEnd(&(*g)->z);
    free(*g);
    *g = NULL;
}

static const char *kind_name(const gunzip *g)
{
    return g->how.kind == PACKING_DEFLATE ? "deflated" : "gzip";
}

static size_t position(const gunzip *g)
{
    return g->fed - g->z.avail_in;
}

static void feed(gunzip *g)
{
    if (g->z.avail_in > 0)
        return;
    size_t n = g->bytes - g->fed;
    n = n < SPAN ? n : SPAN;
    g->z.next_in = (unsigned char *)(uintptr_t)(g->data + g->fed); /* zlib's const is optional */
    g->z.avail_in = (uInt)n;
    g->fed += n;
}

static status next_member(gunzip *g, error *err)
{
    size_t at = position(g);
    if (g->how.kind == PACKING_DEFLATE || !gunzip_is_gzip(g->data + at, g->bytes - at))
        return FAIL(err, E_DATA, "'%s': %zu bytes after the end of the %s data at byte %zu",
                    g->origin, g->bytes - at, kind_name(g), g->how.at + at);
    if (inflateReset(&g->z) != Z_OK)
        return FAIL(err, E_FAIL, "'%s': zlib cannot start over", g->origin);
    g->member_done = false;
    return OK;
}

static status inflate_some(gunzip *g, unsigned char *out, size_t want, size_t *ret_got, error *err)
{
    uInt room = (uInt)(want < SPAN ? want : SPAN);
    size_t before = position(g);
    g->z.next_out = out;
    g->z.avail_out = room;
    feed(g);
    int code = inflate(&g->z, Z_NO_FLUSH);
    read_progress_add(position(g) - before);
    *ret_got = room - g->z.avail_out;
    g->inflated += *ret_got;
    if (g->how.kind == PACKING_DEFLATE)
        g->checksum = (uint32_t)crc32(g->checksum, out, (uInt)*ret_got);
    if (code == Z_STREAM_END) {
        g->member_done = true;
        if (g->how.kind == PACKING_DEFLATE && g->checksum != g->how.checksum)
            return FAIL(err, E_DATA,
                        "'%s': damaged between byte %zu, where its deflated data begin, and byte %zu, where they end: "
                        "its checksum does not fit",
                        g->origin, g->how.at, g->how.at + position(g));
        return OK;
    }
    if (code == Z_OK && (*ret_got > 0 || position(g) < g->bytes))
        return OK;
    if (code == Z_OK || code == Z_BUF_ERROR)
        return FAIL(err, E_DATA,
                    "'%s': the %s data break off at byte %zu, after %zu inflated bytes",
                    g->origin, kind_name(g), g->how.at + position(g), g->inflated);
    if (code == Z_MEM_ERROR)
        return FAIL(err, E_NOMEM, "'%s': no memory to inflate", g->origin);
    return FAIL(err, E_DATA, "'%s': damaged %s data before byte %zu: %s", g->origin, kind_name(g),
                g->how.at + position(g), g->z.msg ? g->z.msg : "not a stream of these");
}

status gunzip_read(gunzip *g, void *out, size_t want, size_t *ret_got, error *err)
{
    size_t got = 0;
    while (got < want) {
        if (g->member_done && position(g) == g->bytes)
            break;
        if (g->member_done)
            TRY(next_member(g, err));
        size_t n = 0;
        TRY(inflate_some(g, (unsigned char *)out + got, want - got, &n, err));
        got += n;
    }
    *ret_got = got;
    return OK;
}

static status count_inflated(gunzip *g, size_t *ret, error *err)
{
    void *chunk = xmalloc(CHUNK);
    size_t all = 0, got = CHUNK;
    status st = OK;
    while (st == OK && got == CHUNK) {
        st = gunzip_read(g, chunk, CHUNK, &got, err);
        all += st == OK ? got : 0;
    }
    free(chunk);
    *ret = all;
    return st;
}

static status take_memory(size_t bytes, const char *origin, void **ret, error *err)
{
    TRYF(mem_alloc(bytes, "an inflated file", ret, err), err, "'%s'", origin);
    return OK;
}

status gunzip_whole(const void *data, size_t bytes, packing how, const char *origin, void **ret,
                    size_t *ret_bytes, error *err)
{
    gunzip *g = NULL;
    void *heap = NULL;
    size_t all = 0, got = 0;
    status st;
    TRY_OUT(st, gunzip_open(data, bytes, how, origin, &g, err));
    TRY_OUT(st, count_inflated(g, &all, err));
    gunzip_close(&g);
    TRY_OUT(st, take_memory(all, origin, &heap, err));
    TRY_OUT(st, gunzip_open(data, bytes, how, origin, &g, err));
    TRY_OUT(st, gunzip_read(g, heap, all, &got, err));
    if (got != all)
        TRY_OUT(st, FAIL(err, E_DATA, "'%s': changed while it was read", origin));
    *ret = heap;
    *ret_bytes = all;
out:
    gunzip_close(&g);
    if (st != OK)
        mem_free(heap);
    return st;
}
