/*
 * Sets of batches: packed bytes are a set that packs to the same, or a refusal with a message; and
 * a set that batches were added to in any order has those and no others, also once packed.
 */
#include "common/base/alloc.h"
#include "common/parts/batch_set.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 4096 };

static void check_packs(const batch_set *s)
{
    buf first = BUF_INIT, second = BUF_INIT;
    batch_set again = BATCH_SET_INIT;
    error err = ERROR_INIT;
    batch_set_pack(s, &first);
    BUG_ON(first.size > BATCH_SET_PACKED_MAX || first.size % 4);
    if (batch_set_unpack(first.data, first.size, &again, &err) != OK)
        BUG("a set does not survive being packed: %s", err.text);
    batch_set_pack(&again, &second);
    BUG_ON(first.size != second.size || memcmp(first.data, second.data, first.size) != 0);
    BUG_ON(batch_set_count(s) != batch_set_count(&again));
    batch_set_fini(&again);
    buf_fini(&first);
    buf_fini(&second);
}

static void try_packed(const uint8_t *data, size_t size)
{
    batch_set s = BATCH_SET_INIT;
    error err = ERROR_INIT;
    if (batch_set_unpack(data, size, &s, &err) == OK)
        check_packs(&s);
    else
        BUG_ON(!err.text[0]);
    batch_set_fini(&s);
}

/* Two bytes a batch. */
static void try_adding(const uint8_t *data, size_t size)
{
    static bool is_in[MOST];
    memset(is_in, 0, sizeof is_in);
    batch_set s = BATCH_SET_INIT;
    int64_t n = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int64_t batch = (data[i] | data[i + 1] << 8) % MOST;
        BUG_ON(!batch_set_fits(&s, batch));
        BUG_ON(batch_set_add(&s, batch) == is_in[batch]);
        n += !is_in[batch];
        is_in[batch] = true;
    }
    BUG_ON(batch_set_count(&s) != n);
    for (int64_t b = 0; b < MOST; b++)
        BUG_ON(batch_set_has(&s, b) != is_in[b]);
    check_packs(&s);
    batch_set_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_packed(data, size);
    try_adding(data, size);
    return 0;
}
