#include "unit/common/support_flats.h"

#include "common/base/rng.h"

#include <inttypes.h>
#include <stdio.h>

tensor_decl flats_vector(const char *name, int64_t n, tensor_kind kind)
{
    return (tensor_decl){
        .name = name,
        .rank = 1,
        .dim = {n},
        .kind = kind,
        .init = {.kind = INIT_CONSTANT},
    };
}

void flats_random(uint64_t number, int64_t largest, flats_case *ret)
{
    rng r = rng_make(1, RNG_TEST, number);
    uint64_t at = 0;
    ret->n = rng_below(&r, at++, FLATS_TENSORS + 1);
    for (size_t i = 0; i < ret->n; i++) {
        snprintf(ret->names[i], FLATS_NAME, "t%" PRIu64, rng_below(&r, at++, 100) * 100 + i);
        /* sizes of every order of magnitude */
        uint64_t bound = (uint64_t)largest >> rng_below(&r, at++, 20);
        int64_t n = (int64_t)rng_below(&r, at++, bound + 1);
        ret->tensors[i] = flats_vector(ret->names[i], n, (tensor_kind)rng_below(&r, at++, 3));
        ret->tensors[i].init = (init_rule){
            .kind = (init_kind)rng_below(&r, at++, 4),
            .a = -0.5f,
            .b = 0.25f,
        };
        if (ret->tensors[i].init.kind == INIT_PUSHED && rng_below(&r, at, 2))
            ret->tensors[i].rank = 0;
    }
}
