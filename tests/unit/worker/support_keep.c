/* See support_keep.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/worker/support_keep.h"

const flat *keep_flat(void)
{
    static const part_range parts[KEEP_PARTS] = {
        {0, KEEP_PART_N, false},
        {KEEP_PART_N, 2 * KEEP_PART_N, false},
        {2 * KEEP_PART_N, 3 * KEEP_PART_N, false},
        {3 * KEEP_PART_N, 4 * KEEP_PART_N, true},
    };
    static const flat f = {
        .n_parts = KEEP_PARTS,
        .n_live_parts = KEEP_LIVE,
        .parts = parts,
        .n_live = KEEP_LIVE * KEEP_PART_N,
        .n_elements = KEEP_PARTS * KEEP_PART_N,
    };
    return &f;
}

void keep_begin(keep *k, const steps *s, int64_t version)
{
    *k = (keep){.steps = *s, .begun = version};
    for (int32_t p = 0; p < KEEP_LIVE; p++)
        k->version[p] = version;
}

/* Sums of these are exact: a bit for the slot, and three numbers that count how often. */
void keep_gradient(int32_t part, int64_t step, uint32_t slot, float *ret)
{
    ret[0] = (float)(1u << slot);
    ret[1] = (float)(step + 1);
    ret[2] = (float)(part + 1);
    ret[3] = 1.0f;
}

void keep_weights(int32_t part, int64_t version, float *ret)
{
    for (int i = 0; i < KEEP_PART_N; i++)
        ret[i] = (float)(part < KEEP_LIVE ? 8 * version + part : -1);
}

bool keep_is_weights(int32_t part, int64_t version, const float *data)
{
    float wanted[KEEP_PART_N];
    keep_weights(part, version, wanted);
    bool same = true;
    for (int i = 0; i < KEEP_PART_N; i++)
        same &= data[i] == wanted[i];
    return same;
}

static void check_sum(const keep *k, int32_t part, int64_t step, tree_node node, const float *data)
{
    float sum[KEEP_PART_N] = {0}, one[KEEP_PART_N];
    for (uint32_t s = tree_node_first(node); s < tree_node_end(node, steps_slots(&k->steps, step));
         s++) {
        keep_gradient(part, step, s, one);
        for (int i = 0; i < KEEP_PART_N; i++)
            sum[i] += one[i];
    }
    for (int i = 0; i < KEEP_PART_N; i++)
        if (data[i] != sum[i])
            fail_msg("part %d, step %lld, node (%d,%u): number %d is %g, not %g", part,
                     (long long)step, node.level, node.index, i, (double)data[i], (double)sum[i]);
}

static void check_versions(const keep *k)
{
    for (int32_t p = 0; p < KEEP_LIVE; p++)
        for (int32_t q = 0; q < p; q++)
            if (k->version[p] - k->version[q] > 1 || k->version[q] - k->version[p] > 1)
                fail_msg("part %d is at %lld, part %d at %lld", q, (long long)k->version[q], p,
                         (long long)k->version[p]);
}

bool keep_push(keep *k, int32_t part, int64_t step, tree_node node, const float *data)
{
    uint32_t n_slots = steps_slots(&k->steps, step);
    assert_true(part < KEEP_LIVE);
    assert_true(tree_node_is_valid(node, n_slots));
    if (step > k->version[part])
        fail_msg("part %d: step %lld is pushed at version %lld", part, (long long)step,
                 (long long)k->version[part]);
    check_sum(k, part, step, node, data);
    if (step < k->version[part])
        return false;
    for (uint32_t s = tree_node_first(node); s < tree_node_end(node, n_slots); s++)
        k->have[part] |= 1u << s;
    if (k->have[part] != (1u << n_slots) - 1)
        return false;
    k->have[part] = 0;
    k->version[part]++;
    check_versions(k);
    return true;
}

void keep_step(keep *k, int32_t part)
{
    float sum[KEEP_PART_N] = {0}, one[KEEP_PART_N];
    uint32_t n_slots = steps_slots(&k->steps, k->version[part]);
    for (uint32_t s = 0; s < n_slots; s++) {
        keep_gradient(part, k->version[part], s, one);
        for (int i = 0; i < KEEP_PART_N; i++)
            sum[i] += one[i];
    }
    tree_node root = {.level = tree_root_level(n_slots)};
    assert_true(keep_push(k, part, k->version[part], root, sum));
}

keep_answer keep_pull(const keep *k, int32_t part, int64_t version)
{
    if (part >= KEEP_LIVE)
        return KEEP_HERE;
    if (version > k->version[part])
        return KEEP_LATER;
    bool is_kept = version >= k->version[part] - 1 && version >= k->begun;
    return is_kept ? KEEP_HERE : KEEP_GONE;
}

bool keep_all_at(const keep *k, int64_t version)
{
    bool all = true;
    for (int32_t p = 0; p < KEEP_LIVE; p++)
        all &= k->version[p] == version;
    return all;
}
