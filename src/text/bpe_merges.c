/* See bpe_merges.h: a hash table, at most half full. */
#include "text/bpe_merges.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"

#include <stdlib.h>
#include <string.h>

struct bpe_merges {
    bpe_merge *slots;
    size_t n_slots; /* a power of two */
};

static bpe_merge *slot_of(const bpe_merges *m, int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t at = (key * 0x9E3779B97F4A7C15u) >> 32 & (m->n_slots - 1);
    while (m->slots[at].left != VOCABULARY_NONE && (m->slots[at].left != left || m->slots[at].right != right))
        at = (at + 1) & (m->n_slots - 1);
    return &m->slots[at];
}

const bpe_merge *bpe_merges_find(const bpe_merges *m, int32_t left, int32_t right)
{
    const bpe_merge *slot = slot_of(m, left, right);
    return slot->left == VOCABULARY_NONE ? NULL : slot;
}

typedef struct half {
    const char *text;
    size_t bytes;
} half;

/* The two halves of a row. */
static bool part(const json_t *row, half ret[2])
{
    if (json_is_array(row) && json_array_size(row) == 2) {
        for (size_t i = 0; i < 2; i++) {
            const json_t *text = json_array_get(row, i);
            ret[i] = (half){json_string_value(text), json_string_length(text)};
        }
        return ret[0].text && ret[1].text;
    }
    const char *text = json_string_value(row);
    const char *blank = text ? strchr(text, ' ') : NULL;
    if (!blank || strchr(blank + 1, ' '))
        return false;
    ret[0] = (half){text, (size_t)(blank - text)};
    ret[1] = (half){blank + 1, strlen(blank + 1)};
    return true;
}

static status find(const vocabulary *tokens, half h, const char *place, size_t row, int32_t *ret, error *err)
{
    *ret = vocabulary_find(tokens, h.text, h.bytes);
    if (*ret == VOCABULARY_NONE)
        return FAIL(err, E_DATA, "%s[%zu]: '%.*s' is not in the vocabulary", place, row, (int)h.bytes, h.text);
    return OK;
}

static status load_row(const json_t *row, size_t i, const char *place, const vocabulary *tokens, size_t prefix,
                       bpe_merges *m, error *err)
{
    half two[2];
    bpe_merge merge = {.rank = (uint32_t)i};
    if (!part(row, two) || two[1].bytes < prefix)
        return FAIL(err, E_DATA, "%s[%zu]: must be \"a b\" or [\"a\", \"b\"]", place, i);
    TRY(find(tokens, two[0], place, i, &merge.left, err));
    TRY(find(tokens, two[1], place, i, &merge.right, err));
    buf both = BUF_INIT;
    buf_add(&both, two[0].text, two[0].bytes);
    buf_add(&both, two[1].text + prefix, two[1].bytes - prefix);
    status st = find(tokens, (half){both.data, both.size}, place, i, &merge.id, err);
    buf_fini(&both);
    if (st == OK)
        *slot_of(m, merge.left, merge.right) = merge;
    return st;
}

status bpe_merges_load(const json_t *list, const char *place, const vocabulary *tokens, size_t prefix,
                       bpe_merges **ret, error *err)
{
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > VOCABULARY_IDS)
        return FAIL(err, E_DATA, "%s: must be an array of pairs", place);
    bpe_merges *m = xcalloc(1, sizeof *m);
    for (m->n_slots = 16; m->n_slots < 2 * n + 2;)
        m->n_slots *= 2;
    m->slots = xcalloc(m->n_slots, sizeof *m->slots);
    for (size_t i = 0; i < m->n_slots; i++)
        m->slots[i].left = VOCABULARY_NONE;
    status st = OK;
    for (size_t i = 0; i < n && st == OK; i++)
        st = load_row(json_array_get(list, i), i, place, tokens, prefix, m, err);
    if (st != OK)
        bpe_merges_destroy(&m);
    *ret = m;
    return st;
}

void bpe_merges_destroy(bpe_merges **m)
{
    if (!*m)
        return;
    free((*m)->slots);
    free(*m);
    *m = NULL;
}
