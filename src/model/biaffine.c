/*
 * biaffine_parser: AllenNLP's model of that name, of dependency trees (Dozat and Manning, 1611.01734). Words of a table
 * go through an encoder, the root before them; what stands for each of them as head and as dependent gives, by two
 * bilinear forms, the scores of every word's head and those of its tag at each head. Tensors have AllenNLP's names.
 *
 * Fields: input_ids int64 [words], attention_mask [words] where there is one. Outputs: scores of heads
 * [batch, words, 1 + words], and of tags [batch, words, 1 + words, tags].
 */
#include "model/builders.h"
#include "model/text_models.h"

static const text_names parser_names = {
    .table = "text_field_embedder.token_embedder_tokens",
    .tokens = "encoder._module",
};

/* What is added to the score of a head that is none; AllenNLP's. */
static const float NO_HEAD = -1e8f;

typedef struct parser {
    const config *section;
    sequences words;
    int64_t heads;      /* words, and the root before them */
    double dropout;
    graph_val zeros;    /* [batch, 1, 1] */
    graph_val rows;     /* [batch, heads, width] of the encoder */
} parser;

/* A constant of one number. */
static status filled(net *n, const char *name, graph_shape shape, float number, graph_val *ret, error *err)
{
    size_t count = (size_t)graph_shape_elements(&shape);
    float *all = arena_alloc(graph_arena(n->g), count * sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = number;
    return graph_const(n->g, name, DT_F32, shape, all, ret, err);
}

static status two(net *n, graph_op op, const char *name, graph_val a, graph_val b, graph_val *ret, error *err)
{
    return graph_add_1(n->g, op, name, (graph_val[]){a, b}, 2, NULL, ret, err);
}

static status behind(net *n, const char *name, int32_t axis, graph_val a, graph_val b, graph_val *ret, error *err)
{
    return graph_add_1(n->g, OP_CONCAT, name, (graph_val[]){a, b}, 2, &(axis_attr){.axis = axis}, ret, err);
}

static const graph_shape *shape_of(const net *n, graph_val v)
{
    return &graph_value_at(n->g, v)->shape;
}

/* In training the same numbers of all words of a sentence are dropped, as AllenNLP's InputVariationalDropout does it:
 * the end is [batch, words, width]. */
static status drop_alike(net *n, const parser *p, const char *name, error *err)
{
    const graph_shape *s = net_shape(n);
    graph_shape of_sentence = {3, {s->dim[0], 1, s->dim[2]}};
    graph_val rows = n->end;
    if (n->request->mode != MODEL_TRAIN || p->dropout <= 0.0)
        return OK;
    TRY(filled(n, net_below(n, name, "kept"), of_sentence, 1.0f, &n->end, err));
    TRY(net_dropout(n, net_below(n, name, "dropout"), p->dropout, err));
    return two(n, OP_MUL, net_below(n, name, "dropped"), rows, n->end, &n->end, err);
}

/* --- what stands for words --- */

/* As many as texts, whatever the batch: of their first words. */
static status make_zeros(net *n, parser *p, error *err)
{
    const slice_attr first = {.n_axes = 1, .axes = {1}, .end = {1}, .step = {1}};
    graph_val ids;
    TRY(net_token_input(n, &ids, err));
    TRY(graph_add_1(n->g, OP_SLICE, "zeros.first", &ids, 1, &first, &ids, err));
    TRY(two(n, OP_SUB, "zeros.none", ids, ids, &ids, err));
    TRY(graph_add_1(n->g, OP_CAST, "zeros", &ids, 1, &(cast_attr){.to = DT_F32}, &ids, err));
    return net_reshape(n, ids, (graph_shape){3, {p->words.batch, 1, 1}}, &p->zeros, err);
}

/* The root's row, which is learned, before those of the words. */
static status put_root(net *n, parser *p, error *err)
{
    int64_t batch = p->words.batch, width = net_shape(n)->dim[1];
    tensor_decl decl = {.rank = 3,
                        .dim = {1, 1, width},
                        .kind = TENSOR_TRAINABLE,
                        .init = {.kind = INIT_NORMAL, .b = 1.0f},
                        .decay = true};
    graph_val root, words;
    TRY(net_param(n, "_head_sentinel", "", decl, &root, err));
    TRY(two(n, OP_ADD, "root", root, p->zeros, &root, err));
    TRY(net_reshape(n, n->end, (graph_shape){3, {batch, p->words.tokens, width}}, &words, err));
    TRY(behind(n, "rows", 1, root, words, &n->end, err));
    TRY(drop_alike(n, p, "rows", err));
    p->rows = n->end;
    return OK;
}

/* AllenNLP's FeedForward of one layer with ELU, over all rows: [batch, heads, features]. */
static status stands_for(net *n, const parser *p, const char *name, int64_t features, graph_val *ret, error *err)
{
    const graph_shape *s = shape_of(n, p->rows);
    TRY(net_reshape(n, p->rows, (graph_shape){2, {s->dim[0] * s->dim[1], s->dim[2]}}, &n->end, err));
    TRY(net_linear(n, net_below(n, name, "_linear_layers.0"), features, true, err));
    TRY(net_activation(n, net_below(n, name, "activation"), "elu", err));
    TRY(net_reshape(n, n->end, (graph_shape){3, {p->words.batch, p->heads, features}}, &n->end, err));
    TRY(drop_alike(n, p, name, err));
    *ret = n->end;
    return OK;
}

/* Without the root. */
static status words_of(net *n, const parser *p, graph_val *v, error *err)
{
    const slice_attr words = {.n_axes = 1, .axes = {1}, .begin = {1}, .end = {p->heads}, .step = {1}};
    return graph_add_1(n->g, OP_SLICE, NULL, v, 1, &words, v, err);
}

static status transpose(net *n, graph_val v, graph_val *ret, error *err)
{
    return graph_add_1(n->g, OP_TRANSPOSE, NULL, &v, 1, &(transpose_attr){.perm = {0, 2, 1}}, ret, err);
}

/* --- heads --- */

/* Each row with a 1 behind it, by which a bilinear form has biases. */
static status with_one(net *n, const parser *p, const char *name, graph_val v, graph_val *ret, error *err)
{
    graph_val one;
    TRY(filled(n, net_below(n, name, "ones"), (graph_shape){3, {1, shape_of(n, v)->dim[1], 1}}, 1.0f, &one, err));
    TRY(two(n, OP_ADD, net_below(n, name, "one"), one, p->zeros, &one, err));
    return behind(n, name, 2, v, one, ret, err);
}

/* What fills up a sentence is no head: NO_HEAD is added to its scores. */
static status mask_heads(net *n, const parser *p, graph_val *scores, error *err)
{
    graph_val one, factor, mask;
    if (p->words.mask == GRAPH_NONE)
        return OK;
    TRY(filled(n, "heads.one", (graph_shape){.rank = 0}, 1.0f, &one, err));
    TRY(filled(n, "heads.none", (graph_shape){.rank = 0}, -NO_HEAD, &factor, err));
    TRY(two(n, OP_SUB, NULL, p->words.mask, one, &mask, err));
    TRY(two(n, OP_MUL, NULL, mask, factor, &mask, err));
    TRY(net_reshape(n, mask, (graph_shape){3, {p->words.batch, 1, p->words.tokens}}, &mask, err));
    TRY(behind(n, "heads.mask", 2, p->zeros, mask, &mask, err));
    return two(n, OP_ADD, "heads.masked", *scores, mask, scores, err);
}

/* AllenNLP's BilinearMatrixAttention with biases of its inputs: [batch, words, heads]. */
static status score_heads(net *n, const parser *p, graph_val *ret, error *err)
{
    static const char form[] = "arc_attention";
    int64_t width = config_int(p->section, "arc_representation_dim");
    graph_val word, head, weight, bias;
    TRY(stands_for(n, p, "head_arc_feedforward", width, &word, err));
    TRY(stands_for(n, p, "child_arc_feedforward", width, &head, err));
    TRY(words_of(n, p, &word, err));
    TRY(with_one(n, p, "arcs.words", word, &word, err));
    TRY(with_one(n, p, "arcs.heads", head, &head, err));
    n->init = NET_XAVIER;
    TRY(net_weight(n, form, "_weight_matrix", (graph_shape){2, {width + 1, width + 1}}, (double)width + 1,
                   (double)width + 1, &weight, err));
    n->init = NET_PYTORCH;
    TRY(net_constant(n, form, "_bias", (graph_shape){1, {1}}, 0.0, &bias, err));
    TRY(two(n, OP_MATMUL, "arcs.weighed", word, weight, &word, err));
    TRY(transpose(n, head, &head, err));
    TRY(two(n, OP_MATMUL, "arcs", word, head, ret, err));
    TRY(two(n, OP_ADD, form, *ret, bias, ret, err));
    return mask_heads(n, p, ret, err);
}

/* --- tags --- */

/* torch.nn.Bilinear of every head and every word: [batch, words, heads, tags]. */
static status score_tags(net *n, const parser *p, graph_val *ret, error *err)
{
    static const char form[] = "tag_bilinear";
    int64_t width = config_int(p->section, "tag_representation_dim"), tags = n->loss->features;
    int64_t batch = p->words.batch, heads = p->heads, words = p->words.tokens;
    graph_val head, word, weight, bias;
    if (tags < 1)
        return FAIL(err, E_CONFIG, "%s: the data do not say how many tags of heads there are", config_path(p->section));
    TRY(stands_for(n, p, "head_tag_feedforward", width, &head, err));
    TRY(stands_for(n, p, "child_tag_feedforward", width, &word, err));
    TRY(words_of(n, p, &word, err));
    TRY(net_weight(n, form, "weight", (graph_shape){3, {tags, width, width}}, (double)width, (double)tags, &weight,
                   err));
    TRY(net_weight(n, form, "bias", (graph_shape){1, {tags}}, (double)width, (double)tags, &bias, err));
    TRY(graph_add_1(n->g, OP_TRANSPOSE, NULL, &weight, 1, &(transpose_attr){.perm = {1, 0, 2}}, &weight, err));
    TRY(net_reshape(n, weight, (graph_shape){2, {width, tags * width}}, &weight, err));
    TRY(two(n, OP_MATMUL, "tags.of_heads", head, weight, &head, err));
    TRY(net_reshape(n, head, (graph_shape){3, {batch, heads * tags, width}}, &head, err));
    TRY(transpose(n, head, &head, err));
    TRY(two(n, OP_MATMUL, "tags", word, head, ret, err));
    TRY(net_reshape(n, *ret, (graph_shape){4, {batch, words, heads, tags}}, ret, err));
    return two(n, OP_ADD, form, *ret, bias, ret, err);
}

status build_biaffine_parser(net *n, const config *model, net_outputs *ret, error *err)
{
    parser p = {.section = model, .dropout = net_share_or(model, "dropout", 0.0)};
    if (net_has_words(n))
        return FAIL(err, E_CONFIG,
                    "%s.type: biaffine_parser reads words, and the data have pieces of them (word_ids); a reader "
                    "without a tokenizer gives words",
                    config_path(model));
    TRY(text_rows(n, model, &parser_names, config_f64(model, "input_dropout"), &p.words, err));
    p.heads = p.words.tokens + 1;
    n->init = NET_PYTORCH;
    TRY(make_zeros(n, &p, err));
    TRY(put_root(n, &p, err));
    TRY(score_heads(n, &p, &ret->at[0], err));
    TRY(score_tags(n, &p, &ret->at[1], err));
    ret->n = 2;
    return OK;
}
