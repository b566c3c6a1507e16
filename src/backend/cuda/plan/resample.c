/* Resize and its gradient, and that of padding: the CPU's passes (backend/passes.h). */
#include "backend/cuda/kernels/resample.h"
#include "backend/cuda/plan/plan.h"
#include "backend/passes.h"
#include "common/base/alloc.h"

typedef struct resample_state {
    int n;
    launch_resample_call pass[GRAPH_RANK];
    size_t buffer; /* elements of each of two buffers between passes */
} resample_state;

static void run_resample(const cuda_node *n, const cuda_call *c)
{
    const resample_state *s = n->state;
    float *buffers[] = {c->scratch, (float *)c->scratch + s->buffer};
    const float *x = c->in[0];
    for (int i = 0; i < s->n; i++) {
        float *y = i == s->n - 1 ? c->out[0] : buffers[i % 2];
        launch_resample(c->stream, &s->pass[i], y, x);
        x = y;
    }
}

static status make_pass(backend_program *p, const pass *from, float outside,
                        launch_resample_call *ret, error *err)
{
    const taps *t = &from->t;
    size_t n = (size_t)t->begin[t->n_out];
    const void *begin, *at, *weight;
    if (t->n_out * from->inner > INT32_MAX)
        return FAIL(err, E_UNSUPPORTED, "resizing of more than 2^31 elements of one plane");
    TRY(cuda_table(p, t->begin, (size_t)(t->n_out + 1) * sizeof *t->begin, &begin, err));
    TRY(cuda_table(p, t->at, n * sizeof *t->at, &at, err));
    TRY(cuda_table(p, t->weight, n * sizeof *t->weight, &weight, err));
    *ret = (launch_resample_call){.outer = from->outer,
                                  .n_in = t->n_in,
                                  .n_out = t->n_out,
                                  .inner = from->inner,
                                  .begin = begin,
                                  .at = at,
                                  .weight = weight,
                                  .outside = outside,
                                  .adds_to_zero = pass_is_narrow(from)};
    return OK;
}

status cuda_plan_resample(cuda_node *n)
{
    passes all = passes_of(n->program->arena, n->node, &cuda_in(n, 0)->shape,
                           &cuda_out(n, 0)->shape);
    if (all.n == 0)
        return cuda_plan_copy(n);
    resample_state *s = cuda_node_runs(n, run_resample, sizeof *s);
    s->n = all.n;
    s->buffer = all.buffer;
    for (int i = 0; i < all.n; i++)
        TRY(make_pass(n->program, &all.pass[i], all.outside, &s->pass[i], n->err));
    n->scratch_bytes = s->n > 1 ? 2 * s->buffer * sizeof(float) : 0;
    return OK;
}
