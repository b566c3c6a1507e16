#include "optim/optim.h"

#include "common/base/simd.h"
#include "optim/update.h"

#include <math.h>
#include <string.h>

/* What the loops work on. */
typedef struct operands {
    size_t n;
    const float *grad, *weight;
    float *weight_out;
} operands;

/* A loop for each way to update: states of an element are its own while it is computed. */
#define UPDATE(KIND, name, n_slots)                                                                         \
    SIMD_CLONES static void name##_loop(operands s, update u, const float *const *in, float *const *out)    \
    {                                                                                                       \
        const float *in0 = n_slots > 0 ? in[0] : NULL, *in1 = n_slots > 1 ? in[1] : NULL;                   \
        const float *in2 = n_slots > 2 ? in[2] : NULL;                                                      \
        float *out0 = n_slots > 0 ? out[0] : NULL, *out1 = n_slots > 1 ? out[1] : NULL;                     \
        float *out2 = n_slots > 2 ? out[2] : NULL;                                                          \
        SIMD_LOOP                                                                                           \
        for (size_t i = 0; i < s.n; i++) {                                                                  \
            float w = s.weight[i], g = update_gradient_of(s.grad[i], w, &u.gradient);                       \
            float state[UPDATE_SLOTS] = {n_slots > 0 ? in0[i] : 0.0f, n_slots > 1 ? in1[i] : 0.0f,          \
                                         n_slots > 2 ? in2[i] : 0.0f};                                      \
            s.weight_out[i] = update_by_##name(w, g, state, &u);                                            \
            if (n_slots > 0)                                                                                \
                out0[i] = state[0];                                                                         \
            if (n_slots > 1)                                                                                \
                out1[i] = state[1];                                                                         \
            if (n_slots > 2)                                                                                \
                out2[i] = state[2];                                                                         \
        }                                                                                                   \
    }
#include "optim/update.def"
#undef UPDATE

typedef void update_loop(operands s, update u, const float *const *in, float *const *out);

static update_loop *const loops[] = {
#define UPDATE(KIND, name, slots) [UPDATE_##KIND] = name##_loop,
#include "optim/update.def"
#undef UPDATE
};

void optim_apply(const optim *o, const optim_call *call, size_t n, const float *grad,
                 const float *weight_in, float *weight_out, const float *const *state_in,
                 float *const *state_out)
{
    update u = update_make(o, call);
    loops[u.kind]((operands){.n = n, .grad = grad, .weight = weight_in, .weight_out = weight_out}, u, state_in,
                  state_out);
}

SIMD_CLONES
static void average(float keep, float take, size_t n, const float *value, const float *in,
                    float *out)
{
    SIMD_LOOP
    for (size_t i = 0; i < n; i++)
        out[i] = update_by_average(value[i], in[i], keep, take);
}

void optim_average_apply(const update_part *u, size_t n, const float *value, const float *in, float *out)
{
    average(u->average_keep, u->average_take, n, value, in, out);
}

/* Where a span's vectors begin. */
static void slots_at(size_t n, size_t at, float *const *slots, float *ret[OPTIM_SLOTS])
{
    for (size_t i = 0; i < n; i++)
        ret[i] = slots[i] + at;
}

/* Of what the span has now. */
static void average_span(const update_part *u, bool moves, operands s, const float *in, float *out)
{
    if (moves)
        optim_average_apply(u, s.n, s.weight_out, in, out);
    else
        memcpy(out, s.weight_out, s.n * sizeof *out);
}

static void update_span_by(const update *u, operands s, float *const *in, float *const *out)
{
    loops[u->kind](s, *u, (const float *const *)in, out);
}

/* Memory that held something else before: checkpoints of the same state have the same bytes. */
static void clear_state(size_t n_slots, size_t n, float *const *out)
{
    for (size_t i = 0; i < n_slots; i++)
        memset(out[i], 0, n * sizeof(float));
}

static void keep(size_t n, const float *in, float *out)
{
    if (in != out)
        memcpy(out, in, n * sizeof *out);
}

static void keep_span(size_t n_slots, operands s, float *const *in, float *const *out)
{
    keep(s.n, s.weight, s.weight_out);
    for (size_t i = 0; i < n_slots; i++)
        keep(s.n, in[i], out[i]);
}

void optim_update(const update_part *u, size_t begin, size_t end, const float *grad,
                  const float *weight_in, float *weight_out, float *const *state_in,
                  float *const *state_out)
{
    for (size_t i = 0; i < u->n_spans; i++) {
        const update_span *span = &u->spans[i];
        size_t from = span->first > begin ? span->first : begin, to = (size_t)span->first + span->n;
        to = to < end ? to : end;
        if (from >= to)
            continue;
        operands s = {
            .n = to - from, .grad = grad + from, .weight = weight_in + from, .weight_out = weight_out + from};
        float *in[OPTIM_SLOTS] = {NULL}, *out[OPTIM_SLOTS] = {NULL};
        slots_at(u->slots, from, state_in, in);
        slots_at(u->slots, from, state_out, out);
        size_t slots = u->slots - u->averages;
        if (span->how == UPDATE_AVERAGE) {
            average(span->keep, span->take, s.n, s.grad, s.weight, s.weight_out);
            clear_state(slots, s.n, out);
        } else if (span->how == UPDATE_NOT) {
            keep_span(slots, s, in, out);
        } else {
            update_span_by(&u->rules[span->how], s, in, out);
        }
        if (u->averages)
            average_span(u, span->how != UPDATE_AVERAGE, s, in[slots], out[slots]);
    }
}

SIMD_CLONES
static double square_sum(const float *x, size_t n)
{
    enum { LANES = 16 };
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t j = 0; i + j < n; j++)
        lane[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t j = 0; j < width; j++)
            lane[j] += lane[j + width];
    return lane[0];
}

double optim_square_sum(const float *x, size_t n)
{
    return square_sum(x, n);
}
