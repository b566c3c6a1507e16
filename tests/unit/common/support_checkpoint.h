/* A small trained state and its checkpoints, for tests of what is done with them. */
#ifndef TEQUIO_TESTS_UNIT_COMMON_SUPPORT_CHECKPOINT_H
#define TEQUIO_TESTS_UNIT_COMMON_SUPPORT_CHECKPOINT_H

#include "common/store/checkpoint.h"

typedef struct trained {
    flat *flat;
    float *weights;                 /* [flat->n_elements] */
    float *slots[CHECKPOINT_SLOTS]; /* [flat->n_elements] each */
    const batch_set *applied;       /* [flat->n_parts] of mode ssp or async; NULL: of mode sync */
} trained;

extern const char *const trained_slot_names[CHECKPOINT_SLOTS];

/* Live, state and frozen tensors, `live` elements in the largest; other values for another seed. */
trained trained_make(int64_t live, uint64_t seed);
void trained_fini(trained *t);

typedef struct trained_save {
    int64_t step;
    uint32_t era;
    size_t n_servers, n_slots;
} trained_save;

/* Writes all shards (parts dealt round robin) and fills the manifest; does not commit. */
status trained_write_shards(const trained *t, const jobdir *d, trained_save save, manifest *ret,
                            error *err);
status trained_commit(const trained *t, const jobdir *d, trained_save save, error *err);

#endif
