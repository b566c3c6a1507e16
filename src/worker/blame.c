#include "worker/blame.h"

#include "common/base/alloc.h"
#include "data/bucketing.h"
#include "exec/nonfinite.h"
#include "model/onnx_node.h"
#include "worker/inputs.h"

#include <stdlib.h>

typedef struct again {
    exec *exec;
    loader *loader;
    float *weights;
} again;

static void again_fini(again *a)
{
    loader_destroy(&a->loader);
    exec_destroy(&a->exec);
    mem_free(a->weights);
}

static bool is_bad(const float *w, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (w[i] - w[i] != 0)
            return true;
    return false;
}

/* The first tensor that holds a number that is not finite. */
static const char *bad_tensor(const flat *f, const float *w)
{
    for (int32_t t = 0; t < f->n_tensors; t++)
        if (is_bad(w + f->offset[t], f->count[t]))
            return f->tensors[t].name;
    return NULL;
}

static status read_weights(const lane_options *o, exec *from, again *a, error *err)
{
    void *weights = NULL;
    TRY(mem_alloc((size_t)o->flat->n_elements * sizeof(float), "weights", &weights, err));
    a->weights = weights;
    return exec_read_params(from, weights, err);
}

static status blame_fill(again *a, const lane_options *o, const lane_next *what, error *err)
{
    inputs in;
    const data_batch *batch = NULL;
    TRY(inputs_bind(a->exec, 0, o->loader.dataset, &in, err));
    TRY(loader_take(a->loader, &what->batch, &batch, err));
    inputs_write(&in, batch, what->weight);
    loader_release(a->loader, batch);
    return OK;
}

static status make_again(again *a, const lane_options *o, const graph *g, const lane_next *what,
                         error *err)
{
    loader_options reading = o->loader;
    exec_options options = {.backend = &backend_cpu,
                            .device = {.threads = o->device.threads > 0 ? o->device.threads : 1},
                            .flat = o->flat,
                            .graphs = &g,
                            .n_graphs = 1};
    reading.bytes = reading.unfinished = false;
    TRY(loader_create(&reading, &a->loader, err));
    TRY(exec_create(&options, &a->exec, err));
    exec_bind_params(a->exec, a->weights);
    return blame_fill(a, o, what, err);
}

static status blame_find(const lane_options *o, const graph *g, const lane_next *what, again *a, buf *ret,
                         error *err)
{
    nonfinite first;
    buf operands = BUF_INIT;
    TRY(make_again(a, o, g, what, err));
    status st = exec_find_nonfinite(a->exec, 0, &first, &operands, err);
    if (st == OK && first.node) {
        const char *name = first.node->name;
        char *place = o->model ? model_onnx_node(o->model, name) : NULL;
        buf_addf(ret, "the first %s is made by '%s' (%s)%s%s%s%s",
                 first.is_nan ? "NaN" : "infinite number", name, graph_op_of(first.node->op)->name,
                 place ? ", " : "", place ? place : "", operands.size ? ", of " : "",
                 operands.size ? operands.data : "");
        free(place);
    }
    buf_fini(&operands);
    return st;
}

/* The variant for that batch; NULL: its length is not to be had. */
static const graph *blame_graph(const lane_options *o, const step_slot *slot)
{
    batch_shape shape = {.examples = slot->n};
    if (o->loader.buckets && bucketing_batch(o->loader.buckets, slot, NULL, &shape.length, NULL) != OK)
        return NULL;
    for (size_t i = 0; i < o->n_graphs; i++)
        if (o->shapes[i].examples == shape.examples && o->shapes[i].length == shape.length)
            return o->graphs[i];
    return NULL;
}

void blame(const lane_options *o, exec *e, const lane_next *what, buf *ret)
{
    again a = {.exec = NULL};
    const graph *g = blame_graph(o, &what->batch);
    if (g && read_weights(o, e, &a, NULL) == OK) {
        const char *bad = bad_tensor(o->flat, a.weights);
        if (bad)
            buf_addf(ret,
                     "the last update has made '%s' a tensor of numbers that are not finite: its "
                     "gradient or the learning rate was too large",
                     bad);
        else if (blame_find(o, g, what, &a, ret, NULL) != OK)
            buf_clear(ret);
    }
    again_fini(&a);
}
