/*
 * Updates of weights and sums of squares as the servers make them (optim/update.h, optim/optim.h),
 * bit for bit: compiled without contraction, sums in the same lanes. A part is one launch
 * for every UPDATE_SPANS of its spans.
 */
#include "backend/cuda/kernels/optim.h"
#include "backend/cuda/kernels/rows.cuh"

#include "optim/update.h"

enum {
    UPDATE_THREADS = 256,
    UPDATE_SPANS = 64, /* of a launch: they are its arguments... */
    UPDATE_RULES = 16, /* ...and so are the rules that they go by */
    SQUARE_BLOCK = 4096,
    SQUARE_LANES = 16,
};

struct update_rules {
    update at[UPDATE_RULES];
    int n;
};

struct update_vectors {
    const float *grad;
    float *weight, *state[UPDATE_SLOTS];
    int slots;
    float *average; /* NULL: none is kept */
    float average_keep, average_take;
};

struct update_spans {
    update_span at[UPDATE_SPANS];
    int n;
};

/* One element; `state` holds its states in slot order, and then the new ones. */
static __device__ __forceinline__ float update_one(const update &u, float grad, float w,
                                                   float state[UPDATE_SLOTS])
{
    float g = update_gradient_of(grad, w, &u.gradient);
    switch (u.kind) {
#define UPDATE(KIND, name, slots)                                                                            \
    case UPDATE_##KIND:                                                                                      \
        return update_by_##name(w, g, state, &u);
#include "optim/update.def"
#undef UPDATE
    }
    return w;
}

/* The last span that begins at i or before; the first does. */
static __device__ __forceinline__ const update_span &span_at(const update_spans &spans, int64_t i)
{
    int low = 0;
    for (int high = spans.n; high - low > 1;) {
        int middle = (low + high) / 2;
        if ((int64_t)spans.at[middle].first <= i)
            low = middle;
        else
            high = middle;
    }
    return spans.at[low];
}

/* The elements i .. i + 3 before `end`. */
static __device__ __forceinline__ void update_quad(const update &u, const update_vectors &v, int64_t i,
                                                   int64_t end, bool aligned)
{
    quad grad = quad_load(v.grad, i, end, aligned), w = quad_load(v.weight, i, end, aligned);
    quad s[UPDATE_SLOTS] = {};
#pragma unroll
    for (int k = 0; k < UPDATE_SLOTS; k++)
        if (k < v.slots)
            s[k] = quad_load(v.state[k], i, end, aligned);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        float state[UPDATE_SLOTS] = {s[0].v[j], s[1].v[j], s[2].v[j]};
        w.v[j] = update_one(u, grad.v[j], w.v[j], state);
#pragma unroll
        for (int k = 0; k < UPDATE_SLOTS; k++)
            s[k].v[j] = state[k];
    }
    quad_store(v.weight, i, end, aligned, w);
#pragma unroll
    for (int k = 0; k < UPDATE_SLOTS; k++)
        if (k < v.slots)
            quad_store(v.state[k], i, end, aligned, s[k]);
}

/* The moving average of the weights that the quad has now; of statistics it is what they are. */
static __device__ __forceinline__ void follow_quad(const quad &w, bool moves, const update_vectors &v, int64_t i,
                                                   int64_t end, bool aligned)
{
    quad a = quad_load(v.average, i, end, aligned);
#pragma unroll
    for (int j = 0; j < 4; j++)
        a.v[j] = moves ? update_by_average(w.v[j], a.v[j], v.average_keep, v.average_take) : w.v[j];
    quad_store(v.average, i, end, aligned, a);
}

static __device__ __forceinline__ void average_quad(const update_span &s, const update_vectors &v,
                                                    int64_t i, int64_t end, bool aligned)
{
    quad x = quad_load(v.grad, i, end, aligned), y = quad_load(v.weight, i, end, aligned);
#pragma unroll
    for (int j = 0; j < 4; j++)
        y.v[j] = update_by_average(x.v[j], y.v[j], s.keep, s.take);
    quad_store(v.weight, i, end, aligned, y);
}

static KERNEL(UPDATE_THREADS, update_all, const __grid_constant__ update_rules rules,
              update_vectors v, const __grid_constant__ update_spans spans, int64_t stop, bool aligned)
{
    for (int64_t i = spans.at[0].first + 4 * ((int64_t)blockIdx.x * UPDATE_THREADS + threadIdx.x);
         i < stop; i += 4 * (int64_t)gridDim.x * UPDATE_THREADS) {
        const update_span &s = span_at(spans, i);
        int64_t end = (int64_t)s.first + s.n;
        if (s.how == UPDATE_AVERAGE)
            average_quad(s, v, i, end, aligned);
        else if (s.how != UPDATE_NOT)
            update_quad(rules.at[s.how], v, i, end, aligned);
        if (v.average)
            follow_quad(quad_load(v.weight, i, end, aligned), s.how != UPDATE_AVERAGE, v, i, end, aligned);
    }
}

/* Where a rule of the part stands among those of the launch, behind them if it is new; UPDATE_RULES: there is no
 * room. `from` says which rules of the part these are. */
static int rule_take(update_rules *ret, int32_t *from, const update *rules, int32_t how)
{
    for (int i = 0; i < ret->n; i++)
        if (from[i] == how)
            return i;
    if (ret->n < UPDATE_RULES) {
        from[ret->n] = how;
        ret->at[ret->n] = rules[how];
    }
    return ret->n < UPDATE_RULES ? ret->n++ : UPDATE_RULES;
}

/* How many spans from `at` on go with one launch; they are moved into `ret`, with their rules. */
static size_t spans_take(update_spans *ret, update_rules *rules, const struct update_part *u, size_t at)
{
    int32_t from[UPDATE_RULES];
    ret->n = rules->n = 0;
    for (; at < u->n_spans && ret->n < UPDATE_SPANS; at++) {
        update_span span = u->spans[at];
        if (span.how >= 0)
            span.how = rule_take(rules, from, u->rules, span.how);
        if (span.how == UPDATE_RULES)
            break;
        ret->at[ret->n++] = span;
    }
    return (size_t)ret->n;
}

void launch_update(cuda_stream stream, const struct update_part *u, const float *grad, float *weight,
                   float *const *state)
{
    int slots = (int)u->slots - u->averages;
    update_vectors v = {grad,  weight, {}, slots, u->averages ? state[slots] : (float *)0, u->average_keep,
                        u->average_take};
    bool aligned = rows_aligned(grad, 4) && rows_aligned(weight, 4);
    for (size_t k = 0; k < u->slots; k++)
        aligned = aligned && rows_aligned(state[k], 4);
    for (int k = 0; k < slots; k++)
        v.state[k] = state[k];
    update_rules rules = {};
    update_spans spans;
    for (size_t at = 0; at < u->n_spans;) {
        at += spans_take(&spans, &rules, u, at);
        int64_t stop = (int64_t)u->spans[at - 1].first + u->spans[at - 1].n;
        LAUNCH(update_all, dim3(blocks_for(stop - spans.at[0].first, 4 * UPDATE_THREADS)),
               dim3(UPDATE_THREADS), 0, stream, rules, v, spans, stop, aligned);
    }
}

/* --- sums of squares --- */

struct square_span {
    uint32_t first, stop; /* elements */
    int64_t block;        /* its first one, of all that the launch sums */
};

struct square_spans {
    square_span at[UPDATE_SPANS];
    int n;
    int64_t blocks;
};

/* Lane j of 16 has numbers j, j + 16 and so on; the lanes are added pairwise. Half a warp a block
 * of the grid, so that both halves shuffle. */
static KERNEL(2 * SQUARE_LANES, square_sums, double *sums, const float *x, square_spans spans)
{
    int lane = (int)threadIdx.x % SQUARE_LANES, k = 0;
    int64_t block = 2 * (int64_t)blockIdx.x + threadIdx.x / SQUARE_LANES;
    while (k + 1 < spans.n && spans.at[k + 1].block <= block)
        k++;
    const square_span &s = spans.at[k];
    int64_t first = (s.first / SQUARE_BLOCK + block - s.block) * SQUARE_BLOCK;
    int64_t stop = first + SQUARE_BLOCK;
    double sum = 0.0;
    first = first < s.first ? s.first : first;
    stop = stop < s.stop ? stop : s.stop;
    for (int64_t i = first + lane; i < stop; i += SQUARE_LANES)
        sum += (double)x[i] * (double)x[i];
    for (int width = SQUARE_LANES / 2; width > 0; width /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, width);
    if (lane == 0 && IN(block < spans.blocks))
        sums[block] = sum;
}

static void square_sums_add(square_spans *to, const update_span &span)
{
    uint32_t stop = span.first + span.n;
    to->at[to->n++] = {span.first, stop, to->blocks};
    to->blocks += (stop - 1) / SQUARE_BLOCK - span.first / SQUARE_BLOCK + 1;
}

void launch_square_sums(cuda_stream stream, double *sums, const float *x,
                        const struct update_span *spans, size_t n_spans)
{
    square_spans some;
    for (size_t at = 0; at < n_spans; sums += some.blocks) {
        some.n = 0;
        some.blocks = 0;
        while (at < n_spans && some.n < UPDATE_SPANS)
            square_sums_add(&some, spans[at++]);
        LAUNCH(square_sums, dim3((unsigned)((some.blocks + 1) / 2)), dim3(2 * SQUARE_LANES), 0,
               stream, sums, x, some);
    }
}
