/* What draws numbers. */
#include "common/base/rng.h"
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

void ref_dropout(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                 const void *attr)
{
    (void)op, (void)n_in;
    const dropout_attr *a = attr;
    rng stream = rng_make(a->seed, RNG_DROPOUT, rng_mix(a->stream, (uint64_t)in[1].x[0]));
    for (int64_t i = 0; i < in[0].n; i++) {
        bool stays = (double)rng_u32(&stream, (uint64_t)i) >= (double)a->ratio * 0x1p32;
        out[0].x[i] = stays ? in[0].x[i] / (1 - (double)a->ratio) : 0;
        if (out[1].x)
            out[1].x[i] = stays;
    }
}

void ref_random(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                const void *attr)
{
    (void)op, (void)n_in;
    const random_attr *a = attr;
    rng stream = rng_make(a->seed, RNG_NODE, rng_mix(a->stream, (uint64_t)in[0].x[0]));
    for (int64_t i = 0; i < out[0].n; i++) {
        float drawn = a->kind == RANDOM_NORMAL ? rng_normal(&stream, (uint64_t)i)
                                               : rng_uniform(&stream, (uint64_t)i);
        out[0].x[i] = (double)a->shift + (double)a->scale * (double)drawn;
    }
}

/* --- cases --- */

static const op_case dropout_rows[] = {
    CASE(DROPOUT, "half", 2, IN(X(4, 33), BATCH),
         .attr = ATTR(dropout_attr, .ratio = 0.5f, .seed = 7, .stream = 3)),
    CASE(DROPOUT, "a third of images", 2, IN(X(2, 17, 5, 3), BATCH),
         .attr = ATTR(dropout_attr, .ratio = 1.0f / 3, .seed = 8, .stream = 1)),
    CASE(DROPOUT, "long", 2, IN(X(3, 6007), BATCH),
         .attr = ATTR(dropout_attr, .ratio = 0.1f, .seed = 9, .stream = 1)),
    CASE(DROPOUT, "nothing", 2, IN(X(5), BATCH), .attr = ATTR(dropout_attr, .ratio = 0)),
};
CASES(dropout);

static const op_case random_rows[] = {
    CASE(RANDOM, "uniform", 1, IN(BATCH),
         .attr = ATTR(random_attr, .shape = {2, {5, 67}}, .shift = -2, .scale = 3, .seed = 7)),
    CASE(RANDOM, "one number", 1, IN(BATCH), .attr = ATTR(random_attr, .scale = 1, .stream = 4)),
    CASE(RANDOM, "normal", 1, IN(BATCH),
         .attr = ATTR(random_attr, .shape = {3, {3, 5, 7}}, .kind = RANDOM_NORMAL, .shift = 1,
                      .scale = 0.5f, .seed = 8, .stream = 1)),
    CASE(RANDOM, "many", 1, IN(BATCH),
         .attr = ATTR(random_attr, .shape = {2, {9, 6007}}, .kind = RANDOM_NORMAL, .scale = 1)),
};
CASES(random);
