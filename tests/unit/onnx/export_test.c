/* Files that are written: a graph in ONNX's operators with the batch left open, and a model that
 * came as a file with other weights. What is written is read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "graph/attrs.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "support/folder.h"
#include "support/window_attrs.h"
#include "unit/onnx/support_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const onnx_meta meta[] = {{"step", "7"}};

static const char *file_path(const char *name)
{
    static char path[2][512];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder_path(), name);
    return path[turn];
}

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s", err->text);
}

/* Weights that count up from `from`. */
static weights *some_weights(const tensor_decl *tensors, size_t n, float from)
{
    error err = ERROR_INIT;
    flat *f = NULL;
    weights *w = NULL;
    must(flat_create(tensors, n, &f, &err), &err);
    float *values = xcalloc((size_t)f->n_elements, sizeof *values);
    for (int64_t i = 0; i < f->n_elements; i++)
        values[i] = from + (float)i;
    must(checkpoint_export(f, values, file_path("w.safetensors"), &err), &err);
    must(weights_open(file_path("w.safetensors"), &w, &err), &err);
    free(values);
    flat_destroy(&f);
    return w;
}

static onnx_model *read_back(void)
{
    error err = ERROR_INIT;
    onnx_model *m = NULL;
    must(onnx_open(file_path("out.onnx"), &m, &err), &err);
    assert_string_equal(m->proto->producer_name, "tequio");
    assert_string_equal(m->proto->metadata_props[m->proto->n_metadata_props - 1]->key, "step");
    return m;
}

static const Onnx__NodeProto *node_of(const onnx_model *m, const char *type)
{
    for (size_t i = 0; i < m->proto->graph->n_node; i++)
        if (strcmp(m->proto->graph->node[i]->op_type, type) == 0)
            return m->proto->graph->node[i];
    return NULL;
}

/* --- a model that came as a file --- */

static file *trained(void)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "fc.weight", "3,6");
    file_weights(f, "bn.weight", "3");
    file_weights(f, "bn.mean", "3");
    file_weights(f, "ratio", "");
    file_node(f, "Identity", "bn.weight", "bn.bias");
    file_int(f, file_node(f, "Gemm", "x fc.weight", "h"), "transB", 1);
    Onnx__NodeProto *n =
        file_node(f, "BatchNormalization", "h bn.weight bn.bias bn.mean bn.weight", "b m v");
    file_int(f, n, "training_mode", 1);
    file_node(f, "Dropout", "b ratio ratio", "y");
    file_output(f, "y");
    return f;
}

static const tensor_decl learned[] = {
    {.name = "fc.weight", .rank = 2, .dim = {3, 6}},
    {.name = "bn.weight", .rank = 1, .dim = {3}},
    {.name = "bn.bias", .rank = 1, .dim = {3}},
    {.name = "bn.mean", .rank = 1, .dim = {3}, .kind = TENSOR_STATE, .momentum = 0.9f},
};

static float first_of(const onnx_model *m, const char *name)
{
    float value;
    int32_t at = onnx_initializer(m, name);
    assert_true(at >= 0);
    const Onnx__TensorProto *t = m->proto->graph->initializer[at];
    assert_true(t->raw_data.len >= sizeof value && t->n_float_data == 0);
    memcpy(&value, t->raw_data.data, sizeof value);
    return value;
}

static void an_old_norm_rests_by_an_attribute(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    file *f = file_create(6);
    file_input(f, "x", FILE_FLOAT, "N,3");
    file_weights(f, "bn.weight", "3");
    file_weights(f, "bn.mean", "3");
    Onnx__NodeProto *n = file_node(f, "BatchNormalization",
                                   "x bn.weight bn.weight bn.mean bn.weight", "y m v a b");
    file_int(f, n, "is_test", 0);
    file_output(f, "y");
    onnx_model *m = file_open(f);
    weights *w = some_weights(learned + 1, 1, 5.0f);
    must(onnx_export_model(m, w, meta, 1, file_path("out.onnx"), &err), &err);
    onnx_model *again = read_back();
    const Onnx__NodeProto *norm = node_of(again, "BatchNormalization");
    assert_int_equal(norm->n_output, 1);
    assert_int_equal(norm->n_attribute, 1);
    assert_string_equal(norm->attribute[0]->name, "is_test");
    assert_int_equal(norm->attribute[0]->i, 1);
    onnx_close(&again);
    onnx_close(&m);
    weights_close(&w);
    file_destroy(&f);
}

static void an_original_keeps_its_graph(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    file *f = trained();
    onnx_model *m = file_open(f);
    weights *w = some_weights(learned, COUNT_OF(learned), 100.0f);
    must(onnx_export_model(m, w, meta, 1, file_path("out.onnx"), &err), &err);
    onnx_model *again = read_back();
    assert_null(node_of(again, "Identity")); /* it became a weight of its own */
    assert_true(first_of(again, "fc.weight") == 100.0f);
    assert_true(first_of(again, "bn.bias") >= 100.0f);
    const Onnx__NodeProto *norm = node_of(again, "BatchNormalization");
    assert_int_equal(norm->n_output, 1);
    for (size_t i = 0; i < norm->n_attribute; i++)
        assert_string_not_equal(norm->attribute[i]->name, "training_mode");
    assert_int_equal(node_of(again, "Dropout")->n_input, 2);
    assert_int_equal(node_of(m, "Dropout")->n_input, 3); /* the one that was read stays whole */
    assert_string_equal(again->proto->graph->input[0]->type->tensor_type->shape->dim[0]->dim_param,
                        "N");
    onnx_close(&again);
    onnx_close(&m);
    weights_close(&w);
    file_destroy(&f);
}

/* Everything that has a mode, also inside of a branch, is at rest; what only training read is
 * gone. */
static void all_is_at_rest(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    file *f = trained(), *branch = file_inside(f), *other = file_inside(f);
    f->proto.opset_import[0]->version = 14;
    file_node(f, "Constant", "", "is_training");
    f->graph.node[3]->input[2] = (char[]){"is_training"};
    Onnx__NodeProto *n =
        file_node(branch, "BatchNormalization", "y bn.weight bn.bias bn.mean bn.weight", "inner m v");
    file_int(branch, n, "training_mode", 1);
    file_output(branch, "inner");
    file_node(other, "Dropout", "y ratio ratio", "outer");
    file_output(other, "outer");
    n = file_node(f, "If", "is_known", "z");
    file_subgraph(f, n, "then_branch", branch);
    file_subgraph(f, n, "else_branch", other);
    onnx_model *m = file_open(f);
    weights *w = some_weights(learned, COUNT_OF(learned), 1.0f);
    must(onnx_export_model(m, w, meta, 1, file_path("out.onnx"), &err), &err);
    onnx_model *again = read_back();
    assert_null(node_of(again, "Constant"));
    assert_true(onnx_initializer(again, "ratio") >= 0);
    const Onnx__NodeProto *branches = node_of(again, "If");
    const Onnx__NodeProto *norm = branches->attribute[0]->g->node[0];
    assert_int_equal(norm->n_output, 1);
    assert_int_equal(norm->n_attribute, 0);
    assert_int_equal(branches->attribute[1]->g->node[0]->n_input, 2);
    onnx_close(&again);
    onnx_close(&m);
    weights_close(&w);
    file_destroy(&f);
}

/* What one call of a layer has moved another reads: at rest both read the same. */
static void calls_of_a_layer_rest_with_one_statistic(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    file *f = trained();
    Onnx__NodeProto *n = file_node(f, "BatchNormalization", "y bn.weight bn.bias m v", "z");
    file_int(f, n, "training_mode", 1);
    file_output(f, "z");
    onnx_model *m = file_open(f);
    weights *w = some_weights(learned, COUNT_OF(learned), 1.0f);
    must(onnx_export_model(m, w, meta, 1, file_path("out.onnx"), &err), &err);
    onnx_model *again = read_back();
    const char *const makers[][2] = {{"bn.mean", "m"}, {"bn.weight", "v"}};
    int found = 0;
    for (size_t i = 0; i < again->proto->graph->n_node; i++) {
        const Onnx__NodeProto *node = again->proto->graph->node[i];
        for (size_t k = 0; strcmp(node->op_type, "Identity") == 0 && k < 2; k++)
            found += strcmp(node->input[0], makers[k][0]) == 0 &&
                     strcmp(node->output[0], makers[k][1]) == 0;
    }
    assert_int_equal(found, 2);
    onnx_close(&again);
    onnx_close(&m);
    weights_close(&w);
    file_destroy(&f);
}

/* A head of another size: sizes that were noted are gone, symbols and numbers of axes stay. */
static void another_head_is_no_lie(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    tensor_decl wider[COUNT_OF(learned)];
    memcpy(wider, learned, sizeof learned);
    wider[0].dim[0] = 5;
    file *f = trained(), *notes = file_inside(f);
    file_input(notes, "y", FILE_FLOAT, "N,3");
    file_input(notes, "fc.weight", FILE_FLOAT, "3,6");
    f->graph.output[0] = notes->graph.input[0];
    f->graph.value_info = notes->graph.input;
    f->graph.n_value_info = 2;
    onnx_model *m = file_open(f);
    weights *w = some_weights(wider, COUNT_OF(wider), 1.0f);
    must(onnx_export_model(m, w, meta, 1, file_path("out.onnx"), &err), &err);
    onnx_model *again = read_back();
    const Onnx__GraphProto *g = again->proto->graph;
    const Onnx__TensorShapeProto *shape = g->output[0]->type->tensor_type->shape;
    assert_int_equal(shape->n_dim, 2);
    assert_string_equal(shape->dim[0]->dim_param, "N");
    assert_false(shape->dim[1]->has_dim_value);
    assert_int_equal(g->n_value_info, 1);
    assert_string_equal(g->value_info[0]->name, "fc.weight");
    onnx_close(&again);
    onnx_close(&m);
    weights_close(&w);
    file_destroy(&f);
}

static void refused(const file *f, const tensor_decl *tensors, size_t n, status expected,
                    const char *text)
{
    error err = ERROR_INIT;
    onnx_model *m = file_open(f);
    weights *w = some_weights(tensors, n, 1.0f);
    assert_int_equal(onnx_export_model(m, w, meta, 1, file_path("none.onnx"), &err), expected);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
    assert_false(fs_exists(file_path("none.onnx")));
    onnx_close(&m);
    weights_close(&w);
}

static void weights_that_do_not_fit(void **state)
{
    (void)state;
    tensor_decl others[COUNT_OF(learned) + 1];
    memcpy(others, learned, sizeof learned);
    others[COUNT_OF(learned)] = (tensor_decl){.name = "more", .rank = 1, .dim = {2}};
    file *f = trained();
    refused(f, others, COUNT_OF(others), E_DATA, "has 5 tensors");
    others[0] = (tensor_decl){.name = "fc.weight", .rank = 1, .dim = {18}};
    refused(f, others, COUNT_OF(learned), E_DATA, "tensor 'fc.weight' is float32 with 1 axes");
    file_destroy(&f);
}

/* A batch's own statistics, of before opset 14. */
static void a_batchs_statistics_cannot_rest(void **state)
{
    (void)state;
    file *f = file_create(9);
    file_input(f, "x", FILE_FLOAT, "N,3");
    file_weights(f, "bn.weight", "3");
    file_weights(f, "bn.mean", "3");
    file_node(f, "BatchNormalization", "x bn.weight bn.weight bn.mean bn.weight", "y m v a b");
    file_node(f, "Relu", "a", "statistics");
    file_output(f, "y");
    refused(f, learned + 1, 1, E_UNSUPPORTED, "'a' is read, which is made in training only");
    file_destroy(&f);
}

/* A file cannot have 2 GB; the weights are a hole in a file. */
static void a_model_beyond_2_gb(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    const int64_t n = 600000000;
    char *entry = xasprintf("{\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[%lld,6],"
                            "\"data_offsets\":[0,%lld]}}",
                            (long long)n / 6, (long long)n * 4);
    char *header = xasprintf("%-128s", entry);
    uint64_t size = strlen(header);
    FILE *to = fopen(file_path("huge.safetensors"), "w");
    fwrite(&size, sizeof size, 1, to);
    fputs(header, to);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(truncate(file_path("huge.safetensors"), (off_t)(8 + size) + 4 * n), 0);
    weights *w = NULL;
    must(weights_open(file_path("huge.safetensors"), &w, &err), &err);
    file *f = trained();
    onnx_model *m = file_open(f);
    assert_int_equal(onnx_export_model(m, w, meta, 1, file_path("none.onnx"), &err), E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "an ONNX file has less than 2^31"));
    assert_false(fs_exists(file_path("none.onnx")));
    onnx_close(&m);
    file_destroy(&f);
    weights_close(&w);
    free(header);
    free(entry);
}

/* --- a graph --- */

/* x [batch,4,6]: heads apart and together, the first half, a row for each example. */
static graph *shapes(int64_t batch, graph_op last, const void *attr)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val x, y, row, out[8];
    tensor_decl token = {.name = "token", .rank = 3, .dim = {1, 1, 6}};
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "x", DT_F32, (graph_shape){3, {batch, 4, 6}}, &x, &err), &err);
    must(graph_param(g, &token, &row, &err), &err);
    shape_attr apart = {.shape = {4, {batch, 4, 2, 3}}}, flat_rows = {.shape = {2, {batch * 4, 6}}};
    shape_attr rows = {.shape = {3, {batch, 1, 6}}};
    transpose_attr perm = {.perm = {0, 2, 1, 3}};
    slice_attr half = {.n_axes = 1, .axes = {1}, .begin = {0}, .end = {2}, .step = {1}};
    must(graph_add_1(g, OP_RESHAPE, NULL, &x, 1, &apart, &y, &err), &err);
    must(graph_add_1(g, OP_TRANSPOSE, NULL, &y, 1, &perm, &y, &err), &err);
    must(graph_add_1(g, OP_SLICE, NULL, &y, 1, &half, &y, &err), &err);
    must(graph_add_1(g, OP_RESHAPE, NULL, &x, 1, &flat_rows, &y, &err), &err);
    must(graph_add_1(g, OP_RESHAPE, NULL, &y, 1, &(shape_attr){.shape = {3, {batch, 4, 6}}}, &y,
                     &err), &err);
    must(graph_add_1(g, OP_EXPAND, NULL, &row, 1, &rows, &row, &err), &err);
    must(graph_add_1(g, OP_CONCAT, NULL, (graph_val[]){row, y}, 2, &(axis_attr){.axis = 1}, &y,
                     &err), &err);
    graph_val in[2] = {y, GRAPH_NONE};
    if (last == OP_DROPOUT)
        must(graph_input(g, "batch.id", DT_I64, (graph_shape){1, {1}}, &in[1], &err), &err);
    must(graph_add(g, last, "last", in, last == OP_DROPOUT ? 2 : 1, attr, out, &err),
         &err);
    return g;
}

static status export(graph *g, graph *twin, error *err)
{
    static const tensor_decl token = {.name = "token", .rank = 3, .dim = {1, 1, 6}};
    static const char *const outputs[] = {"last"};
    weights *w = some_weights(&token, 1, 1.0f);
    onnx_export request = {.g = g,
                           .twin = twin,
                           .batch = 5,
                           .twin_batch = 7,
                           .outputs = outputs,
                           .n_outputs = 1,
                           .weights = w,
                           .meta = meta,
                           .n_meta = 1};
    status st = onnx_export_graph(&request, file_path("out.onnx"), err);
    weights_close(&w);
    return st;
}

/* Read again for another batch than either it was written from. */
static void a_batch_is_left_open(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    graph *five = shapes(5, OP_RELU, NULL), *seven = shapes(7, OP_RELU, NULL), *g = NULL;
    must(export(five, seven, &err), &err);
    onnx_model *m = read_back();
    assert_null(node_of(m, "Slice")); /* nobody needs it */
    graph_val x;
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "fed", DT_F32, (graph_shape){3, {3, 4, 6}}, &x, &err), &err);
    onnx_binding bound = {.input = "x", .value = x};
    onnx_request request = {
        .mode = ONNX_EVAL, .inputs = &bound, .n_inputs = 1, .batch_id = GRAPH_NONE};
    onnx_imported imported;
    must(onnx_import(m, g, &request, &imported, &err), &err);
    char text[SHAPE_TEXT];
    const graph_value *y = graph_value_at(g, imported.outputs[0].value);
    assert_string_equal(graph_shape_text(&y->shape, text, sizeof text), "[3,5,6]");
    assert_int_equal(imported.n_weights, 1);
    onnx_imported_fini(&imported);
    graph_destroy(&g);
    onnx_close(&m);
    graph_destroy(&five);
    graph_destroy(&seven);
}

static void fields_are_attributes(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    graph *five = shapes(5, OP_SELU, NULL), *seven = shapes(7, OP_SELU, NULL);
    must(export(five, seven, &err), &err);
    onnx_model *m = read_back();
    const Onnx__NodeProto *selu = node_of(m, "Selu");
    assert_int_equal(selu->n_attribute, 2);
    assert_string_equal(selu->attribute[0]->name, "alpha");
    assert_true(selu->attribute[0]->f == 1.67326319217681884765625f);
    assert_string_equal(selu->attribute[1]->name, "gamma");
    assert_true(selu->attribute[1]->f == 1.05070102214813232421875f);
    onnx_close(&m);
    graph_destroy(&five);
    graph_destroy(&seven);
}

/* Lists have a number for each axis of the image, words are words; what the opset does not have yet
 * is not said where it is the default. */
static void windows_are_attributes(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    const pool_attr attr =
        POOL_ATTR(.kernel = {3}, .strides = {2}, .auto_pad = PAD_SAME_LOWER, .p = 3);
    graph *five = shapes(5, OP_LP_POOL, &attr), *seven = shapes(7, OP_LP_POOL, &attr);
    must(export(five, seven, &err), &err);
    onnx_model *m = read_back();
    const Onnx__NodeProto *pool = node_of(m, "LpPool");
    const char *const names[] = {"kernel_shape", "strides", "pads", "auto_pad", "p"};
    assert_int_equal(pool->n_attribute, COUNT_OF(names));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_string_equal(pool->attribute[i]->name, names[i]);
    assert_int_equal(pool->attribute[0]->n_ints, 1);
    assert_int_equal(pool->attribute[0]->ints[0], 3);
    assert_int_equal(pool->attribute[1]->ints[0], 2);
    assert_int_equal(pool->attribute[2]->n_ints, 2);
    assert_int_equal(pool->attribute[2]->ints[0], 1);
    assert_memory_equal(pool->attribute[3]->s.data, "NOTSET", pool->attribute[3]->s.len);
    assert_int_equal(pool->attribute[4]->i, 3);
    onnx_close(&m);
    graph_destroy(&five);
    graph_destroy(&seven);
}

/* Mish, and an AveragePool's dilations, are younger than the opset that is written. */
static void what_onnx_cannot_say(void **state)
{
    (void)state;
    const dropout_attr drop = {.ratio = 0.5f};
    const pool_attr apart = POOL_ATTR(.kernel = {2}, .dilations = {2});
    const struct {
        graph_op last;
        const void *attr;
        const char *why;
    } rows[] = {{OP_DROPOUT, &drop, "ONNX cannot say: 'last' (Dropout)"},
                {OP_MISH, NULL, "ONNX cannot say: 'last' (Mish)"},
                {OP_AVERAGE_POOL, &apart, "ONNX cannot say: 'last' (AveragePool)"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        error err = ERROR_INIT;
        graph *five = shapes(5, rows[i].last, rows[i].attr);
        graph *seven = shapes(7, rows[i].last, rows[i].attr);
        assert_int_equal(export(five, seven, &err), E_UNSUPPORTED);
        assert_string_equal(err.text, rows[i].why);
        graph_destroy(&five);
        graph_destroy(&seven);
    }
}

/* Only a node's first output is written. */
static void another_output_cannot_be_said(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val x, out[3];
    const pool_attr attr = POOL_ATTR(.kernel = {2}, .indices = true);
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "x", DT_F32, (graph_shape){3, {5, 4, 6}}, &x, &err), &err);
    must(graph_add(g, OP_MAX_POOL, "pool", &x, 1, &attr, out, &err), &err);
    must(graph_add_1(g, OP_CAST, "last", &out[2], 1, &(cast_attr){.to = DT_F32}, &x, &err), &err);
    assert_int_equal(export(g, NULL, &err), E_UNSUPPORTED);
    assert_string_equal(err.text, "ONNX cannot say: 'pool' (MaxPool)");
    graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_original_keeps_its_graph),
        cmocka_unit_test(an_old_norm_rests_by_an_attribute),
        cmocka_unit_test(all_is_at_rest),
        cmocka_unit_test(calls_of_a_layer_rest_with_one_statistic),
        cmocka_unit_test(a_batchs_statistics_cannot_rest),
        cmocka_unit_test(another_head_is_no_lie),
        cmocka_unit_test(weights_that_do_not_fit),
        cmocka_unit_test(a_model_beyond_2_gb),
        cmocka_unit_test(a_batch_is_left_open),
        cmocka_unit_test(fields_are_attributes),
        cmocka_unit_test(windows_are_attributes),
        cmocka_unit_test(what_onnx_cannot_say),
        cmocka_unit_test(another_output_cannot_be_said),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
