/* See records.h. */
#include "data/index/records.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/read_progress.h"
#include "data/index/parallel.h"
#include "data/index/samples.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* CHUNK: bytes that one round of a parallel loop cuts or checks, about; LENGTHS: records after whose lengths it is said
 * that this goes on. */
enum { CHUNK = 16 << 20, LENGTHS = 1024 };

/* --- lines --- */

typedef struct line_cut {
    const unsigned char *data;
    size_t bytes;
    record_list *chunks; /* [n chunks] the lines that begin there */
} line_cut;

static bool is_blank(const unsigned char *p, size_t n)
{
    while (n > 0 && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++, n--;
    return n == 0;
}

/* The end of the line that holds byte `at`: its "\n", or the file's end. */
static size_t line_end(const line_cut *c, size_t at)
{
    const unsigned char *end = memchr(c->data + at, '\n', c->bytes - at);
    return end ? (size_t)(end - c->data) : c->bytes;
}

static status cut_chunk(void *user, size_t i, error *err)
{
    (void)err;
    const line_cut *c = user;
    size_t at = i * CHUNK, limit = c->bytes - at < CHUNK ? c->bytes : at + CHUNK;
    if (at > 0 && c->data[at - 1] != '\n')
        at = line_end(c, at) + 1;
    while (at < limit) {
        size_t end = line_end(c, at), bytes = end - at;
        if (bytes > 0 && c->data[end - 1] == '\r')
            bytes--;
        if (!is_blank(c->data + at, bytes))
            record_list_add(&c->chunks[i], at, bytes);
        at = end + 1;
    }
    read_progress_add(limit - i * CHUNK);
    return OK;
}

static void join_chunks(record_list *chunks, size_t n_chunks, record_list *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < n_chunks; i++)
        n += chunks[i].n;
    ret->at = xmalloc((n ? n : 1) * sizeof *ret->at);
    ret->cap = n;
    for (size_t i = 0; i < n_chunks; i++) {
        if (chunks[i].n)
            memcpy(ret->at + ret->n, chunks[i].at, chunks[i].n * sizeof *ret->at);
        ret->n += chunks[i].n;
        record_list_fini(&chunks[i]);
    }
}

static status cut_lines(const record_source *s, int threads, record_list *ret, error *err)
{
    size_t n = (s->bytes + CHUNK - 1) / CHUNK;
    line_cut c = {.data = s->data, .bytes = s->bytes, .chunks = xcalloc(n + 1, sizeof *c.chunks)};
    status st = parallel_for(n, threads, cut_chunk, &c, err);
    join_chunks(c.chunks, n, ret);
    free(c.chunks);
    return st;
}

static void place_of_line(const record_source *s, uint64_t at, size_t n, buf *ret)
{
    (void)n;
    size_t line = 1;
    for (const unsigned char *p = s->data; (p = memchr(p, '\n', (size_t)(s->data + at - p))) != NULL; p++)
        line++;
    buf_addf(ret, "line %zu (byte %" PRIu64 ")", line, at);
}

/* --- TFRecord --- */

/* length (8 bytes), checksum of these 8 (4), the record, its checksum (4); all little-endian */
enum { LENGTH = 8, CHECKSUM = 4, HEAD = LENGTH + CHECKSUM };

static uint32_t stored_checksum(const unsigned char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return le32toh(x);
}

static status next_tfrecord(const record_source *s, size_t at, record_list *ret, error *err)
{
    size_t left = s->bytes - at;
    if (left < HEAD)
        return FAIL(err, E_DATA,
                    "'%s': record %zu (byte %zu): the file breaks off after %zu of %d bytes of its head",
                    s->name, ret->n, at, left, HEAD);
    if (stored_checksum(s->data + at + LENGTH) != crc32c_masked(s->data + at, LENGTH))
        return FAIL(err, E_DATA,
                    "'%s': record %zu (byte %zu): the checksum of its length does not fit: damaged, or no "
                    "TFRecord file",
                    s->name, ret->n, at);
    uint64_t length;
    memcpy(&length, s->data + at, sizeof length);
    length = le64toh(length);
    left -= HEAD;
    if (left < CHECKSUM || length > left - CHECKSUM)
        return FAIL(err, E_DATA,
                    "'%s': record %zu (byte %zu): has %" PRIu64 " bytes, but the file breaks off after %zu",
                    s->name, ret->n, at, length, left);
    record_list_add(ret, at + HEAD, (size_t)length);
    return OK;
}

typedef struct checksum_pass {
    const record_source *source;
    const record_list *records;
    size_t per_round;
} checksum_pass;

static status check_some(void *user, size_t round, error *err)
{
    const checksum_pass *p = user;
    const unsigned char *data = p->source->data;
    size_t i = round * p->per_round, end = i + p->per_round;
    for (; i < end && i < p->records->n; i++) {
        const record_span *r = &p->records->at[i];
        if (stored_checksum(data + r->at + r->bytes) != crc32c_masked(data + r->at, r->bytes))
            return FAIL(err, E_DATA, "'%s': record %zu (byte %" PRIu64 "): its checksum does not fit: damaged",
                        p->source->name, i, r->at - HEAD);
        read_progress_add(HEAD + r->bytes + CHECKSUM);
    }
    return OK;
}

/* The lengths one after the other, then the checksums of the records side by side. */
static status cut_tfrecords(const record_source *s, int threads, record_list *ret, error *err)
{
    for (size_t at = 0; at < s->bytes;) {
        TRY(next_tfrecord(s, at, ret, err));
        at += HEAD + ret->at[ret->n - 1].bytes + CHECKSUM;
        if (ret->n % LENGTHS == 0) {
            read_progress_add(0);
            TRY(read_progress_check(err));
        }
    }
    size_t rounds = s->bytes / CHUNK + 1;
    checksum_pass pass = {.source = s, .records = ret, .per_round = ret->n / rounds + 1};
    return parallel_for(rounds, threads, check_some, &pass, err);
}

static void place_of_tfrecord(const record_source *s, uint64_t at, size_t n, buf *ret)
{
    (void)s;
    buf_addf(ret, "record %zu (byte %" PRIu64 ")", n, at - HEAD);
}

/* --- all kinds --- */

static const struct {
    status (*cut)(const record_source *s, int threads, record_list *ret, error *err);
    void (*place)(const record_source *s, uint64_t at, size_t n, buf *ret);
} kinds[] = {
    [RECORD_LINES] = {cut_lines, place_of_line},
    [RECORD_TFRECORD] = {cut_tfrecords, place_of_tfrecord},
    [RECORD_SAMPLES] = {samples_cut, samples_place},
};

status records_cut(record_kind kind, const record_source *source, int threads, record_list *ret, error *err)
{
    status st = kinds[kind].cut(source, threads, ret, err);
    if (st != OK)
        record_list_fini(ret);
    return st;
}

void records_place(record_kind kind, const record_source *source, uint64_t at, size_t n, buf *ret)
{
    kinds[kind].place(source, at, n, ret);
}
