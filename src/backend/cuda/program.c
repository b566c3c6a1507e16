#include "backend/cuda/program.h"

#include "backend/cuda/device/device.h"
#include "backend/drop.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"

#include <inttypes.h>

bool cuda_node_computes(const cuda_node *n)
{
    return n->launch || n->body;
}

void *cuda_node_alloc(const cuda_node *n, size_t bytes)
{
    return arena_alloc(n->program->arena, bytes);
}

void *cuda_node_runs(cuda_node *n, cuda_launch launch, size_t state_bytes)
{
    void *state = cuda_node_alloc(n, state_bytes);
    n->launch = launch;
    n->state = state;
    return state;
}

const graph_value *cuda_in(const cuda_node *n, int i)
{
    if (i >= n->node->n_in || n->node->in[i] == GRAPH_NONE)
        return NULL;
    return graph_value_at(n->program->g, n->node->in[i]);
}

const graph_value *cuda_out(const cuda_node *n, int i)
{
    if (i >= n->node->n_out || n->node->out[i] == GRAPH_NONE)
        return NULL;
    return graph_value_at(n->program->g, n->node->out[i]);
}

cuda_storage cuda_in_storage(const cuda_node *n, int i)
{
    return n->in[i].seen;
}

cuda_storage cuda_out_storage(const cuda_node *n, int i)
{
    return n->out[i].seen;
}

int64_t cuda_span(const graph_shape *s, int64_t pitch)
{
    int64_t n = graph_shape_elements(s);
    return pitch ? n / s->dim[s->rank - 1] * pitch : n;
}

int64_t cuda_in_pitch(const cuda_node *n, int i)
{
    const graph_shape *s = &cuda_in(n, i)->shape;
    return n->in[i].seen.pitch ? n->in[i].seen.pitch : s->dim[s->rank - 1];
}

int64_t cuda_out_pitch(const cuda_node *n, int i)
{
    const graph_shape *s = &cuda_out(n, i)->shape;
    return n->out[i].seen.pitch ? n->out[i].seen.pitch : s->dim[s->rank - 1];
}

launch_type cuda_launch_type(dtype t)
{
    return t == DT_BF16 ? LAUNCH_BF16 : t == DT_F16 ? LAUNCH_F16 : LAUNCH_F32;
}

launch_types cuda_types(const cuda_node *n)
{
    launch_type in[AXES_OPERANDS] = {LAUNCH_F32};
    for (int i = 0; i < n->node->n_in && i < AXES_OPERANDS; i++)
        if (cuda_in(n, i))
            in[i] = cuda_launch_type(cuda_in_storage(n, i).type);
    return (launch_types){cuda_launch_type(cuda_out_storage(n, 0).type), in[0], in[1], in[2]};
}

graph_shape cuda_channels_last(const graph_shape *s, int32_t rank)
{
    graph_shape ret = {.rank = rank};
    for (int i = 0; i < rank; i++) {
        int to = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
        ret.dim[to] = i < rank - s->rank ? 1 : s->dim[i - rank + s->rank];
    }
    return ret;
}

axes cuda_broadcast(const cuda_node *n)
{
    const graph_shape *x[AXES_OPERANDS], *y = &cuda_out(n, 0)->shape;
    graph_shape in[AXES_OPERANDS], out = cuda_channels_last(y, y->rank);
    bool last = cuda_out_storage(n, 0).channels_last;
    BUG_ON(n->node->n_in > AXES_OPERANDS);
    for (int k = 0; k < n->node->n_in; k++) {
        in[k] = cuda_channels_last(&cuda_in(n, k)->shape, y->rank);
        x[k] = last ? &in[k] : &cuda_in(n, k)->shape;
    }
    return axes_of_broadcast(last ? &out : y, x, n->node->n_in);
}

void cuda_node_checks(cuda_node *n, int i, int64_t low, int64_t high)
{
    n->fault_of = cuda_in(n, i)->name;
    n->n_faults = 1;
    n->fault_low[0] = low;
    n->fault_high[0] = high;
}

void cuda_node_checks_indices(cuda_node *n, int i, const index_positions *at)
{
    n->fault_of = cuda_in(n, i)->name;
    n->n_faults = at->depth;
    for (int32_t k = 0; k < at->depth; k++) {
        n->fault_low[k] = -at->size[k];
        n->fault_high[k] = at->size[k] - 1;
    }
}

void cuda_node_by(cuda_node *n, const char *library, const char *why)
{
    n->by = why ? arena_printf(n->program->arena, "a kernel of ours: %s", why) : library;
}

status cuda_begin_sum(const cuda_node *n, const cuda_call *c, error *err)
{
    int32_t base = graph_node_inplace(n->node);
    size_t bytes = n->program->bytes[n->node->out[0]];
    if (base == GRAPH_NONE)
        return device_check(cudaMemsetAsync(c->out[0], 0, bytes, c->stream), "clearing", err);
    if (c->in[base] == c->out[0])
        return OK;
    return device_check(
        cudaMemcpyAsync(c->out[0], c->in[base], bytes, cudaMemcpyDeviceToDevice, c->stream),
        "a copy", err);
}

launch_dropout cuda_dropout(float ratio, uint64_t seed, uint64_t stream)
{
    return (launch_dropout){
        .key = rng_mix(seed, RNG_DROPOUT),
        .stream = stream,
        .threshold = drop_threshold(ratio),
        .scale = drop_scale(ratio),
    };
}

status program_fault(const backend_program *p, uint64_t word, error *err)
{
    if (word == UINT64_MAX)
        return OK;
    int32_t index = (int32_t)(word >> 32);
    BUG_ON(index < 0 || index >= graph_n_nodes(p->g) || !p->nodes[index].fault_of);
    const cuda_node *n = &p->nodes[index];
    int64_t k = (uint32_t)word % n->n_faults;
    return FAIL(err, E_DATA, "%s: number %" PRIu32 " of '%s' is outside %" PRId64 "..%" PRId64,
                n->node->name, (uint32_t)word, n->fault_of, n->fault_low[k], n->fault_high[k]);
}
