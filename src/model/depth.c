#include "model/depth.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"
#include "optim/group.h"

#include <ctype.h>
#include <string.h>

enum { NO_LAYER = -1 };

typedef struct block {
    const char *name;       /* not ended: its first `length` bytes */
    size_t length;          /* 0: names without a number */
    bool is_front;          /* of these, those before any number */
    bool is_layer;
    int32_t layer;          /* from the first one */
} block;

typedef struct depth {
    block *blocks;          /* in the order of their first reading */
    int32_t *block_of;      /* [values] of a parameter; NO_LAYER: it is none, or a running statistic */
    int32_t n, layers;
    bool has_number;        /* as far as it was read */
    arena *memory;
} depth;

/* --- blocks --- */

/* Up to the first number; 0: there is none. */
static size_t block_length(const char *name)
{
    size_t n = strcspn(name, "0123456789");
    if (!name[n])
        return 0;
    while (isdigit((unsigned char)name[n]))
        n++;
    return n;
}

static int32_t find_block(depth *d, const char *name)
{
    size_t length = block_length(name);
    bool is_front = !length && !d->has_number;
    d->has_number |= length > 0;
    for (int32_t i = 0; i < d->n; i++)
        if (d->blocks[i].length == length && d->blocks[i].is_front == is_front &&
            strncmp(d->blocks[i].name, name, length) == 0)
            return i;
    d->blocks[d->n] = (block){.name = name, .length = length, .is_front = is_front};
    return d->n++;
}

static void read_param(const graph *g, graph_val v, depth *d)
{
    const graph_value *value = v == GRAPH_NONE ? NULL : graph_value_at(g, v);
    if (!value || value->kind != VAL_PARAM || value->param->kind == TENSOR_STATE || d->block_of[v] != NO_LAYER)
        return;
    block *b = &d->blocks[d->block_of[v] = find_block(d, value->name)];
    b->is_layer |= !b->length || value->shape.rank >= 2;
}

/* --- layers --- */

/* The last layer is behind all others, wherever its names were read. */
static void number_layers(depth *d)
{
    int32_t now = 0;
    bool has_last = false;
    for (int32_t i = 0; i < d->n; i++) {
        block *b = &d->blocks[i];
        bool is_last = !b->length && !b->is_front;
        has_last |= is_last;
        if (is_last)
            continue;
        now += b->is_layer && d->layers ? 1 : 0;
        d->layers = b->is_layer || d->layers ? now + 1 : 0;
        b->layer = now;
    }
    for (int32_t i = 0; i < d->n; i++)
        if (!d->blocks[i].length && !d->blocks[i].is_front)
            d->blocks[i].layer = d->layers;
    d->layers += has_last;
}

static void find_layers(const graph *g, depth *ret)
{
    arena *a = arena_create();
    size_t n = (size_t)graph_n_values(g);
    *ret = (depth){.memory = a,
                   .blocks = arena_alloc(a, (n + 1) * sizeof *ret->blocks),
                   .block_of = arena_alloc(a, (n + 1) * sizeof *ret->block_of)};
    for (size_t v = 0; v < n; v++)
        ret->block_of[v] = NO_LAYER;
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        const graph_node *node = graph_node_at(g, i);
        for (int32_t k = 0; k < node->n_in; k++)
            read_param(g, node->in[k], ret);
    }
    for (graph_val v = 0; v < graph_n_values(g); v++) /* what is read in branches alone */
        read_param(g, v, ret);
    number_layers(ret);
}

static bool decay_of(const json_t *optimizer, double *ret)
{
    const json_t *decay = json_object_get(optimizer, "layer_decay");
    *ret = json_number_value(decay);
    return json_is_number(decay);
}

status depth_assign(graph *g, const json_t *optimizer, error *err)
{
    int32_t groups = 1 + (int32_t)json_array_size(json_object_get(optimizer, "parameter_groups"));
    double decay;
    depth d;
    if (!decay_of(optimizer, &decay))
        return OK;
    find_layers(g, &d);
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_PARAM || value->param->kind != TENSOR_TRAINABLE)
            continue;
        int32_t from_end = d.layers - 1 - d.blocks[d.block_of[v]].layer;
        graph_set_group(g, v, optim_layer_group(value->param->group, groups, from_end));
    }
    int32_t layers = d.layers;
    arena_destroy(&d.memory);
    if (layers < 2)
        return FAIL(err, E_CONFIG,
                    "trainer.optimizer.layer_decay: the names of the parameters tell no layers; expected numbers in "
                    "them, or null");
    return OK;
}

void depth_describe(const graph *g, const json_t *optimizer, buf *ret)
{
    double decay;
    depth d;
    if (!decay_of(optimizer, &decay))
        return;
    find_layers(g, &d);
    for (int32_t layer = 0; layer < d.layers; layer++)
        for (int32_t i = 0; i < d.n; i++) {
            const block *b = &d.blocks[i];
            const char *name = b->length ? b->name : b->is_front ? "first" : "last";
            if (b->layer != layer || !b->is_layer)
                continue;
            buf_addf(ret, "%s%.*s %.4g", layer ? ", " : "", (int)(b->length ? b->length : strlen(name)), name,
                     det_pow(decay, (double)(d.layers - 1 - layer)));
        }
    arena_destroy(&d.memory);
}
