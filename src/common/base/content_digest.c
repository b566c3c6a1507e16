#include "common/base/content_digest.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/read_progress.h"
#include "common/base/rng.h"

#include <endian.h>
#include <stdlib.h>

enum { SEED = 20 };

void content_digest_add(content_digest *s, const void *data, size_t bytes)
{
    GROW(s->at, s->cap, s->n + 1);
    s->at[s->n++] = (content_digest_piece){.data = data, .bytes = bytes};
}

void content_digest_fini(content_digest *s)
{
    free(s->at);
    *s = (content_digest){.at = NULL};
}

size_t content_digest_bytes(const content_digest *s)
{
    size_t all = 0;
    for (size_t i = 0; i < s->n; i++)
        all += s->at[i].bytes;
    return all;
}

static void add_length(sha256 *h, size_t bytes)
{
    uint64_t length = htole64(bytes);
    sha256_add(h, &length, sizeof length);
}

/* Piece by piece: each is progress of reading. */
static void add_all(sha256 *h, const content_digest_piece *one)
{
    for (size_t at = 0, n; at < one->bytes; at += n) {
        n = one->bytes - at < READ_PROGRESS_STEP ? one->bytes - at : READ_PROGRESS_STEP;
        sha256_add(h, (const unsigned char *)one->data + at, n);
        read_progress_add(n);
    }
}

void content_digest_whole(const content_digest *s, char ret_hex[SHA256_HEX])
{
    sha256 h;
    sha256_begin(&h);
    for (size_t i = 0; i < s->n; i++) {
        add_length(&h, s->at[i].bytes);
        add_all(&h, &s->at[i]);
    }
    sha256_end(&h, ret_hex);
}

/* Block `i` of `n` of a long piece: the first, the last, or one somewhere in its stretch. */
static const unsigned char *block_of(const content_digest_piece *one, size_t i, size_t n)
{
    const unsigned char *data = one->data;
    size_t last = one->bytes - CONTENT_DIGEST_BLOCK, stretch = (last - CONTENT_DIGEST_BLOCK) / (n - 2);
    if (i == 0 || i == n - 1)
        return data + (i ? last : 0);
    rng places = rng_make(SEED, RNG_SAMPLE, one->bytes);
    size_t begin = CONTENT_DIGEST_BLOCK + (i - 1) * stretch;
    return data + begin + rng_below(&places, i, stretch - CONTENT_DIGEST_BLOCK + 1);
}

/* All are asked for before the first is read: a disk then fetches them side by side. */
static void sample(sha256 *h, const content_digest_piece *one, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fs_map_fetch(block_of(one, i, n), CONTENT_DIGEST_BLOCK);
    for (size_t i = 0; i < n; i++)
        sha256_add(h, block_of(one, i, n), CONTENT_DIGEST_BLOCK);
}

void content_digest_sampled(const content_digest *s, char ret_hex[SHA256_HEX])
{
    sha256 h;
    sha256_begin(&h);
    size_t blocks = s->n ? CONTENT_DIGEST_SAMPLE / CONTENT_DIGEST_BLOCK / s->n : 0;
    blocks = blocks < 3 ? 3 : blocks;
    for (size_t i = 0; i < s->n; i++) {
        const content_digest_piece *one = &s->at[i];
        add_length(&h, one->bytes);
        if (one->bytes <= (blocks + 1) * CONTENT_DIGEST_BLOCK)
            sha256_add(&h, one->data, one->bytes);
        else
            sample(&h, one, blocks);
    }
    sha256_end(&h, ret_hex);
}
