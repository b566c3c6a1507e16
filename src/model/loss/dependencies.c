/*
 * Heads and tags of words (loss.h): the cross entropy of every word's head among the places of its sentence, and that
 * of its tag, at its true head where tags have scores at each.
 */
#include "model/loss/build.h"

static const char heads_shape[] = "scores [batch, words, 1 + words] of heads";

/* [batch, words, 1 + words], and [batch, words, tags] or [batch, words, 1 + words, tags]. */
static status check_shapes(const net *n, const net_outputs *o, const graph_val *label, error *err)
{
    graph_shape words = *loss_shape_of(n, label[0]);
    if (o->n < 2)
        return FAIL(err, E_CONFIG, "%s: the model has one output; the loss dependencies takes two: %s, and of tags",
                    config_path(n->request->model), heads_shape);
    const graph_shape *heads = loss_shape_of(n, o->at[0]), *tags = loss_shape_of(n, o->at[1]);
    graph_shape want = {3, {words.dim[0], words.dim[1], words.dim[1] + 1}};
    if (!graph_shape_equal(heads, &want))
        return loss_misfit(n, o->at[0], label[0], heads_shape, "", err);
    graph_shape each = {3, {want.dim[0], want.dim[1], n->loss->features}}, at_heads = want;
    at_heads.dim[at_heads.rank++] = n->loss->features;
    if (!graph_shape_equal(tags, &each) && !graph_shape_equal(tags, &at_heads))
        return loss_misfit(n, o->at[1], label[1], "scores [batch, words, tags] or [batch, words, 1 + words, tags]",
                           "", err);
    return OK;
}

/* From tags at every head, rows [words * heads, tags], those at the true ones; of a word without a label those at the
 * root. */
static status at_true_heads(net *n, graph_val tags, graph_val heads, graph_val *ret, error *err)
{
    graph_shape s = *loss_shape_of(n, tags);
    int64_t words = s.dim[0] * s.dim[1], places = s.dim[2];
    int64_t *first = arena_alloc(graph_arena(n->g), (size_t)words * sizeof *first);
    graph_val begin, ignored, root, pick[3], in[2];
    for (int64_t i = 0; i < words; i++)
        first[i] = i * places;
    TRY(net_reshape(n, tags, (graph_shape){2, {words * places, s.dim[3]}}, &in[0], err));
    TRY(graph_const(n->g, "loss.words", DT_I64, (graph_shape){1, {words}}, first, &begin, err));
    TRY(graph_const(n->g, "loss.no_head", DT_I64, (graph_shape){.rank = 0}, &n->loss->ignore_index, &ignored, err));
    TRY(graph_const(n->g, "loss.root", DT_I64, (graph_shape){.rank = 0}, &(int64_t){0}, &root, err));
    TRY(loss_two(n, OP_EQUAL, heads, ignored, &pick[0], err));
    pick[1] = root;
    pick[2] = heads;
    TRY(graph_add_1(n->g, OP_WHERE, NULL, pick, 3, NULL, &in[1], err));
    TRY(loss_two(n, OP_ADD, begin, in[1], &in[1], err));
    return graph_add_1(n->g, OP_GATHER, NULL, in, 2, &(gather_attr){.axis = 0}, ret, err);
}

static status mean(net *n, const char *name, graph_val scores, graph_val labels, graph_val *ret, error *err)
{
    const sce_attr how = {.reduction = SCE_MEAN, .has_ignore_index = true, .ignore_index = n->loss->ignore_index};
    return graph_add_1(n->g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, name, (graph_val[]){scores, labels}, 2, &how, ret, err);
}

status loss_dependencies(net *n, const net_outputs *o, const graph_val *label, graph_val *ret, error *err)
{
    const accuracy_attr right = {.has_ignore_index = true, .ignore_index = n->loss->ignore_index};
    graph_val heads, tags = o->at[1], labels[2], part[2];
    TRY(check_shapes(n, o, label, err));
    graph_shape s = *loss_shape_of(n, o->at[0]);
    int64_t words = s.dim[0] * s.dim[1];
    for (int i = 0; i < 2; i++)
        TRY(net_reshape(n, label[i], (graph_shape){1, {words}}, &labels[i], err));
    TRY(net_reshape(n, o->at[0], (graph_shape){2, {words, s.dim[2]}}, &heads, err));
    TRY(loss_count_right(n, heads, labels[0], &right, err));
    if (loss_shape_of(n, tags)->rank == 4)
        TRY(at_true_heads(n, tags, labels[0], &tags, err));
    else
        TRY(net_reshape(n, tags, (graph_shape){2, {words, n->loss->features}}, &tags, err));
    TRY(mean(n, "loss.of_heads", heads, labels[0], &part[0], err));
    TRY(mean(n, "loss.of_tags", tags, labels[1], &part[1], err));
    return graph_add_1(n->g, OP_ADD, "loss", part, 2, NULL, ret, err);
}
