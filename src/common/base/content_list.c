#include "common/base/content_list.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/rng.h"

#include <endian.h>
#include <stdlib.h>

enum { SEED = 20 };

void content_list_add(content_list *s, const void *data, size_t bytes)
{
    GROW(s->at, s->cap, s->n + 1);
    s->at[s->n++] = (content_list_item){.data = data, .bytes = bytes};
}

void content_list_fini(content_list *s)
{
    free(s->at);
    *s = (content_list){.at = NULL};
}

size_t content_list_total(const content_list *s)
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

void content_list_hash(const content_list *s, char ret_hex[SHA256_HEX])
{
    sha256 h;
    sha256_begin(&h);
    for (size_t i = 0; i < s->n; i++) {
        add_length(&h, s->at[i].bytes);
        sha256_add(&h, s->at[i].data, s->at[i].bytes);
    }
    sha256_end(&h, ret_hex);
}

/* Block `i` of `n` of a long piece: the first, the last, or one somewhere in its stretch. */
static const unsigned char *block_of(const content_list_item *one, size_t i, size_t n)
{
    const unsigned char *data = one->data;
    size_t last = one->bytes - CONTENT_LIST_BLOCK, stretch = (last - CONTENT_LIST_BLOCK) / (n - 2);
    if (i == 0 || i == n - 1)
        return data + (i ? last : 0);
    rng places = rng_make(SEED, RNG_SAMPLE, one->bytes);
    size_t begin = CONTENT_LIST_BLOCK + (i - 1) * stretch;
    return data + begin + rng_below(&places, i, stretch - CONTENT_LIST_BLOCK + 1);
}

/* All are asked for before the first is read: a disk then fetches them side by side. */
static void sample(sha256 *h, const content_list_item *one, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fs_map_fetch(block_of(one, i, n), CONTENT_LIST_BLOCK);
    for (size_t i = 0; i < n; i++)
        sha256_add(h, block_of(one, i, n), CONTENT_LIST_BLOCK);
}

void content_list_sample(const content_list *s, char ret_hex[SHA256_HEX])
{
    sha256 h;
    sha256_begin(&h);
    size_t blocks = s->n ? CONTENT_LIST_SAMPLE / CONTENT_LIST_BLOCK / s->n : 0;
    blocks = blocks < 3 ? 3 : blocks;
    for (size_t i = 0; i < s->n; i++) {
        const content_list_item *one = &s->at[i];
        add_length(&h, one->bytes);
        if (one->bytes <= (blocks + 1) * CONTENT_LIST_BLOCK)
            sha256_add(&h, one->data, one->bytes);
        else
            sample(&h, one, blocks);
    }
    sha256_end(&h, ret_hex);
}
