#include "backend/cuda/plan/attention.h"
#include "common/base/alloc.h"

enum { SCRATCH_ALIGN = 256 };

size_t attention_bytes_of(launch_type t)
{
    return t == LAUNCH_F32 ? sizeof(float) : sizeof(uint16_t);
}

static const void *first_of(const attention_state *s, const void *x, const attention_layout *l)
{
    return (const char *)x + (size_t)l->offset * attention_bytes_of(s->launch.operands);
}

launch_attention attention_launch_of(const cuda_node *n, const cuda_call *c, int first)
{
    const attention_state *s = n->state;
    launch_attention t = s->launch;
    const void *q = c->in[first], *k = c->in[first + 1], *v = c->in[first + 2];
    t.q = first_of(s, q, &s->form.q);
    t.k = first_of(s, k ? k : q, &s->form.k);
    t.v = first_of(s, v ? v : q, &s->form.v);
    t.mask = c->in[first + 3];
    t.drop = s->drop;
    if (t.drop.threshold > 0)
        t.drop.batch = c->in[first + 4];
    return t;
}

static void *gradient_at(void *x, const attention_layout *l, size_t bytes)
{
    return x ? (char *)x + (size_t)l->offset * bytes : NULL;
}

launch_attention_bwd attention_bwd_of(const cuda_node *n, const cuda_call *c, void *const gradients[],
                                      size_t bytes)
{
    const attention_state *s = n->state;
    bool packed = !c->in[4];
    launch_attention_bwd b = {
        .of = attention_launch_of(n, c, 3),
        .dy = c->in[0],
        .delta = c->scratch,
        .dq = gradient_at(gradients[0], &s->form.q, bytes),
        .dk = gradient_at(gradients[packed ? 0 : 1], &s->form.k, bytes),
        .dv = gradient_at(gradients[packed ? 0 : 2], &s->form.v, bytes),
        .dmask = c->out[3],
    };
    b.of.y = (void *)(uintptr_t)c->in[1];
    b.of.lse = (float *)(uintptr_t)c->in[2];
    return b;
}

size_t attention_reserve(cuda_node *n, size_t bytes)
{
    size_t at = n->scratch_bytes;
    n->scratch_bytes = size_round_up(at + bytes, SCRATCH_ALIGN);
    return at;
}
