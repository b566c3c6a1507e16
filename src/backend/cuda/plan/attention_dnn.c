/*
 * Attention by cuDNN: what it reads and writes as halves, a mask as numbers that are added, and dropout by its
 * own random numbers, where the configuration allows other bits than the CPU's.
 */
#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/plan/attention.h"
#include "graph/precision.h"

enum { BACKWARD_FIRST = 3 }; /* of the operands among the inputs, backward */

static bool is_backward(const cuda_node *n)
{
    return n->node->op == OP_ATTENTION_BWD;
}

static int first_of(const cuda_node *n)
{
    return is_backward(n) ? BACKWARD_FIRST : 0;
}

/* --- runs --- */

/* The value itself where there is no copy. */
static void *half_at(const cuda_call *c, const half_copy *h, void *value)
{
    return h->elements ? (char *)c->scratch + h->at : value;
}

static void *rounded(const attention_state *s, const cuda_call *c, const half_copy *h,
                     const void *value)
{
    void *half = half_at(c, h, (void *)(uintptr_t)value);
    if (h->elements)
        launch_round(c->stream, (launch_types){.y = s->launch.operands}, half, value, h->elements);
    return half;
}

static void widen(const attention_state *s, const cuda_call *c, const half_copy *h, void *value)
{
    if (h->elements && value)
        launch_round(c->stream, (launch_types){.a = s->launch.operands}, value, half_at(c, h, NULL),
                     h->elements);
}

/* With the mask's numbers and a seed, which are made here; t has the operands' addresses. */
static dnn_attention prepare(const attention_state *s, const cuda_call *c, const launch_attention *t)
{
    dnn_attention a = s->asked;
    a.of = *t;
    if (a.is_biased) {
        float *bias = (float *)((char *)c->scratch + s->bias_at);
        launch_attention_bias(c->stream, bias, t->mask, t->mask_chooses, s->n_bias);
        a.bias = bias;
    }
    if (a.ratio > 0.0f) {
        int64_t *seed = (int64_t *)((char *)c->scratch + s->seed_at);
        launch_attention_seed(c->stream, seed, &t->drop);
        a.seed = seed;
    }
    return a;
}

static status run(const cuda_node *n, const cuda_call *c, error *err)
{
    const attention_state *s = n->state;
    launch_attention t = attention_launch_of(n, c, 0);
    t.y = half_at(c, &s->y, c->out[0]);
    t.lse = c->out[1];
    dnn_attention a = prepare(s, c, &t);
    TRY(dnn_attention_run(s->dnn, &a, (char *)c->scratch + s->dnn_scratch, err));
    if (a.is_biased)
        launch_attention_blind_rows(c->stream, &t);
    widen(s, c, &s->y, c->out[0]);
    return OK;
}

static status run_bwd(const cuda_node *n, const cuda_call *c, error *err)
{
    const attention_state *s = n->state;
    void *gradients[ATTENTION_GRADIENTS];
    for (int i = 0; i < ATTENTION_GRADIENTS; i++)
        gradients[i] = half_at(c, &s->gradients[i], c->out[i]);
    launch_attention_bwd b = attention_bwd_of(n, c, gradients, sizeof(uint16_t));
    b.dy = rounded(s, c, &s->dy, b.dy);
    b.of.y = rounded(s, c, &s->y, b.of.y);
    dnn_attention a = prepare(s, c, &b.of);
    for (int64_t first = 0; first < s->launch.batch; first += s->batch_of_run) {
        TRY(dnn_attention_bwd_run(s->dnn, &a, &b, (char *)c->scratch + s->dnn_scratch, err));
        dnn_attention_advance(&a, &b, s->batch_of_run);
    }
    for (int i = 0; i < ATTENTION_GRADIENTS; i++)
        widen(s, c, &s->gradients[i], c->out[i]);
    return OK;
}

/* --- plans --- */

/* Of a value of this shape that is not stored as the operands are. */
static half_copy copy_of(cuda_node *n, const graph_shape *shape)
{
    int64_t elements = graph_shape_elements(shape);
    return (half_copy){elements, attention_reserve(n, (size_t)elements * sizeof(uint16_t))};
}

static void plan_copies(cuda_node *n, attention_state *s)
{
    if (cuda_out_storage(n, 0).type != cuda_in(n, 0)->dtype)
        s->y = copy_of(n, &s->form.y_shape);
}

static void plan_copies_bwd(cuda_node *n, attention_state *s)
{
    dtype half = cuda_in(n, BACKWARD_FIRST)->dtype;
    if (cuda_in_storage(n, 0).type != half)
        s->dy = copy_of(n, &s->form.y_shape);
    if (cuda_in_storage(n, 1).type != half)
        s->y = copy_of(n, &s->form.y_shape);
    for (int i = 0; i < ATTENTION_GRADIENTS && cuda_in(n, BACKWARD_FIRST + i); i++)
        if (!cuda_out(n, i) || cuda_out_storage(n, i).type != half)
            s->gradients[i] = copy_of(n, &cuda_in(n, BACKWARD_FIRST + i)->shape);
}

/* Whether backward makes a gradient of the mask; forward the node that reads the log-sum-exp tells. */
static bool is_mask_learned(const cuda_node *n)
{
    const graph *g = n->program->g;
    if (is_backward(n))
        return cuda_out(n, 3);
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        const graph_node *other = graph_node_at(g, i);
        if (other->op == OP_ATTENTION_BWD && other->in[2] == n->node->out[1])
            return other->out[3] != GRAPH_NONE;
    }
    return false;
}

/* What of it cuDNN is not asked for; NULL: nothing. Who drops does so both ways. */
static const char *beyond_dnn(const cuda_node *n, const attention_state *s)
{
    bool drops = s->drop.threshold > 0, allowed = graph_has_library_dropout(n->program->g);
    if (drops && !allowed)
        return "it has dropout, and cuDNN's bits are other than the CPU's; trainer.library_dropout allows them";
    if ((drops || is_backward(n)) && is_mask_learned(n))
        return "its mask has a gradient, which cuDNN is not asked for";
    return NULL;
}

/* Dropout is cuDNN's both ways or not at all. */
static status ask(const cuda_node *n, attention_state *s, error *err)
{
    backend_program *p = n->program;
    bool drops = s->asked.ratio > 0.0f;
    dnn_graph *forward = NULL, *backward = NULL;
    if (drops || !is_backward(n))
        TRY(dnn_attention_plan(p, &s->asked, &forward, err));
    if (drops || is_backward(n))
        TRY(dnn_attention_bwd_plan(p, &s->asked, &s->batch_of_run, &backward, err));
    s->dnn = is_backward(n) ? backward : forward;
    return OK;
}

static void plan_runs(cuda_node *n, attention_state *s)
{
    n->body = is_backward(n) ? run_bwd : run;
    (is_backward(n) ? plan_copies_bwd : plan_copies)(n, s);
    if (s->asked.is_biased)
        s->bias_at = attention_reserve(n, (size_t)s->n_bias * sizeof(float));
    if (s->asked.ratio > 0.0f)
        s->seed_at = attention_reserve(n, LAUNCH_SEED_WORDS * sizeof(int64_t));
    s->dnn_scratch = attention_reserve(n, dnn_scratch_bytes(s->dnn));
}

static void describe(const cuda_node *n, attention_state *s)
{
    const graph_value *mask = cuda_in(n, first_of(n) + 3);
    s->n_bias = mask ? graph_shape_elements(&mask->shape) : 0;
    s->asked = (dnn_attention){.of = s->launch,
                               .is_biased = mask,
                               .ratio = ((const attention_attr *)n->node->attr)->ratio};
}

/* What drops is asked for both ways by either node; the second is known. */
void attention_ask_dnn(const cuda_node *n, attention_state *s)
{
    dnn_graph *none = NULL;
    if (beyond_dnn(n, s))
        return;
    describe(n, s);
    bool both = s->asked.ratio > 0.0f;
    status forward = E_UNSUPPORTED, backward = E_UNSUPPORTED;
    if (both || !is_backward(n))
        forward = dnn_attention_plan(n->program, &s->asked, &none, NULL);
    if (both || is_backward(n))
        backward = dnn_attention_bwd_plan(n->program, &s->asked, &s->batch_of_run, &none, NULL);
    BUG_ON(forward == OK || backward == OK);
}

status attention_plan_dnn(cuda_node *n, attention_state *s)
{
    error why = ERROR_INIT;
    const char *beyond = beyond_dnn(n, s);
    if (beyond) {
        cuda_node_by(n, "cuDNN", beyond);
        return OK;
    }
    describe(n, s);
    status st = ask(n, s, &why);
    cuda_node_by(n, "cuDNN", st == OK ? NULL : why.text);
    if (st == OK)
        plan_runs(n, s);
    return st == OK || st == E_UNSUPPORTED ? OK : FAIL(n->err, st, "%s", why.text);
}
