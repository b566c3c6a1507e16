/* Damaged and hostile files: one message each, which names the thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "unit/onnx/support_import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static file *linear(void)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "w", "6,3");
    file_node(f, "MatMul", "x w", "y");
    file_output(f, "y");
    return f;
}

static void expect_and_destroy(file *f, status code, const char *text)
{
    expect_error(f, code, text);
    file_destroy(&f);
}

static void expect_no_model(const void *data, size_t bytes, const char *text)
{
    onnx_model *m = NULL;
    error err = ERROR_INIT;
    assert_int_equal(onnx_open_memory(data, bytes, "bad.onnx", &m, &err), E_DATA);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not hold '%s'", err.text, text);
    assert_null(m);
}

static void damaged_files(void **state)
{
    (void)state;
    file *f = linear();
    buf bytes = BUF_INIT;
    file_pack(f, &bytes);
    expect_no_model("", 0, "bad.onnx: the file is empty");
    expect_no_model(bytes.data, bytes.size - 1, "it is no ONNX model, or it is cut short");
    expect_no_model("no model at all", 15, "it is no ONNX model, or it is cut short");
    f->proto.graph = NULL;
    buf_clear(&bytes);
    file_pack(f, &bytes);
    expect_no_model(bytes.data, bytes.size, "it holds no graph");
    buf_fini(&bytes);
    file_destroy(&f);
}

/* A subgraph in a subgraph in ...: the parser would need all the stack there is. */
static void deep_files(void **state)
{
    (void)state;
    enum { DEEP = 3000 };
    static const unsigned char tags[] = {0x0a, 0x2a, 0x32}; /* graph.node, node.attribute, .g */
    unsigned char *data = xmalloc(DEEP * 18), *at = data + DEEP * 18;
    size_t size = 0;
    for (int i = 0; i < 3 * DEEP; i++) {
        unsigned char head[6] = {i == 3 * DEEP - 1 ? 0x3a : tags[(3 * DEEP - 2 - i) % 3]};
        size_t n = 1, rest = size;
        for (; rest > 0x7f; rest >>= 7)
            head[n++] = (unsigned char)(rest | 0x80);
        head[n++] = (unsigned char)rest;
        at -= n;
        memcpy(at, head, n);
        size += n;
    }
    expect_no_model(at, size, "subgraphs lie more than 32 deep in each other");
    free(data);
}

static void bad_tensors(void **state)
{
    (void)state;
    file *f = linear();
    f->graph.initializer[0]->n_float_data--;
    f->graph.initializer[0]->data_type = 7;
    expect_and_destroy(f, E_DATA, "tensor 'w' holds 0 elements, its shape has 18");

    f = linear();
    f->graph.initializer[0]->dims[0] = INT64_MAX / 2;
    expect_and_destroy(f, E_DATA, "node 'MatMul_0' (MatMul): tensor 'w': ");

    f = linear();
    f->graph.initializer[0]->dims[1] = 4;
    expect_and_destroy(f, E_DATA, "tensor 'w' holds 18 elements, its shape has 24");

    f = linear();
    f->graph.initializer[0]->data_type = 14;
    expect_and_destroy(f, E_UNSUPPORTED, "tensor 'w' is of complex64 (14)");

    f = linear();
    f->graph.initializer[0]->name = NULL;
    expect_and_destroy(f, E_DATA, "initializer 0 has no name");
}

static void weights_that_are_no_numbers(void **state)
{
    (void)state;
    file *f = linear();
    error err = ERROR_INIT;
    float values[18];
    onnx_weight w;
    f->graph.initializer[0]->float_data[5] = NAN;
    onnx_model *m = file_open(f);
    assert_true(onnx_weight_find(m, "w", &w));
    assert_int_equal(onnx_weight_read(m, &w, values, 18, &err), E_DATA);
    assert_string_equal(err.text,
                        "test.onnx: tensor 'w' is NaN at element 5; weights must be finite");
    onnx_close(&m);
    file_destroy(&f);
}

static void bad_names(void **state)
{
    (void)state;
    file *f = linear();
    file_weights(f, "w", "1");
    expect_and_destroy(f, E_DATA, "two values are called 'w'");

    f = linear();
    file_node(f, "Relu", "x", "y");
    expect_and_destroy(f, E_DATA, "node 'Relu_1' (Relu) makes 'y', and so does node 'MatMul_0'");

    f = linear();
    f->graph.node[0]->input[1] = (char[]){"nothing"};
    expect_and_destroy(f, E_DATA,
                       "node 'MatMul_0' (MatMul): it reads 'nothing', which nothing makes");

    f = linear();
    file_node(f, "Pow", "y", "z");
    file_output(f, "z");
    expect_and_destroy(f, E_DATA, "node 'Pow_1' (Pow): its input 1 is missing");

    f = linear();
    file_input(f, "z", FILE_FLOAT, "N");
    f->graph.node[0]->input[0] = (char[]){"z"};
    expect_and_destroy(f, E_CONFIG, "it reads the model's input 'z', which is fed by nothing");

    f = linear();
    file_output(f, "lost");
    expect_and_destroy(f, E_DATA, "nothing makes the output 'lost'");
}

static void bad_shapes(void **state)
{
    (void)state;
    file *f = linear();
    f->graph.node[0]->input[0] = (char[]){"w"};
    expect_and_destroy(f, E_CONFIG,
                       "node 'MatMul_0' (MatMul): y (MatMul): the inputs [6,3] and [6,3] "
                       "do not multiply");

    f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,7");
    file_node(f, "Relu", "x", "y");
    file_output(f, "y");
    expect_and_destroy(f, E_CONFIG,
                       "axis 1 of input 'x' is fixed to 7 in the file, but is fed [4,6]");

    f = file_create(17);
    file_input(f, "x", FILE_INT64, "N,6");
    file_node(f, "Abs", "x", "y");
    file_output(f, "y");
    expect_and_destroy(f, E_CONFIG, "input 'x' is of int64, but is fed float32");

    f = linear();
    file_ints(f, "huge", "4611686018427387904,4611686018427387904");
    file_node(f, "Expand", "y huge", "z");
    file_output(f, "z");
    expect_and_destroy(f, E_CONFIG, "node 'Expand_1' (Expand): ");
}

/* Sizes that are written down and nobody has: refused before memory is asked for. */
static void huge_results(void **state)
{
    (void)state;
    static const struct {
        const char *sizes;
        status code;
        const char *says;
    } rows[] = {
        {"1048576,8192", E_UNSUPPORTED,
         "node 'ConstantOfShape_1' (ConstantOfShape): its result [1048576,8192] has more than "},
        {"4611686018427387904,4", E_DATA, "[4611686018427387904,4] is no shape of a tensor"},
        {"-3", E_DATA, "node 'ConstantOfShape_1' (ConstantOfShape): [-3] is no shape of a tensor"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        file *f = linear();
        file_ints(f, "sizes", rows[i].sizes);
        file_node(f, "ConstantOfShape", "sizes", "zeros");
        file_node(f, "Add", "y zeros", "z");
        file_output(f, "z");
        expect_and_destroy(f, rows[i].code, rows[i].says);
    }
    file *f = linear();
    file_ints(f, "start", "0");
    file_ints(f, "limit", "4611686018427387904");
    file_ints(f, "step", "1");
    file_node(f, "Range", "start limit step", "places");
    file_node(f, "Cast", "places", "z");
    file_int(f, f->graph.node[2], "to", FILE_FLOAT);
    file_output(f, "z");
    expect_and_destroy(f, E_UNSUPPORTED, "node 'Range_1' (Range): it makes more than ");
}

/* A mask of many positions is no such thing: it is known, whatever its size. */
static void large_constants(void **state)
{
    (void)state;
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_ints(f, "sizes", "1200,1200");
    file_ints(f, "axes", "0");
    file_node(f, "ConstantOfShape", "sizes", "zeros");
    file_node(f, "ReduceSum", "zeros", "none");
    file_node(f, "Add", "x none", "y");
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[4,6]");
    imported_fini(&p);
    file_destroy(&f);
}

static void bad_versions(void **state)
{
    (void)state;
    file *f = linear();
    f->proto.opset_import[0]->version = 99;
    expect_and_destroy(f, E_UNSUPPORTED,
                       "node 'MatMul_0' (MatMul): the model uses opset 99, newer than 28");

    f = linear();
    f->proto.opset_import[0]->domain = (char[]){"elsewhere"};
    expect_and_destroy(f, E_UNSUPPORTED,
                       "the model does not say which version of the domain 'ai.onnx' it uses");

    f = linear();
    file_int(f, file_node(f, "Softmax", "y", "z"), "axis", 5);
    file_output(f, "z");
    expect_and_destroy(f, E_DATA,
                       "node 'Softmax_1' (Softmax): axis 5 is none of the 2 of its input");

    f = linear();
    file_float(f, file_node(f, "Softmax", "y", "z"), "axis", 1.0f);
    file_output(f, "z");
    expect_and_destroy(f, E_DATA, "its attribute 'axis' is of type float, must be int");
}

static void functions_that_call_themselves(void **state)
{
    (void)state;
    file *f = linear(), *body = file_create(17);
    file_node(body, "Again", "a", "b")->domain = (char[]){"local"};
    file_opset(f, "local", 1);
    file_function(f, "local", "Again", "a", "b", body);
    file_node(f, "Again", "y", "z")->domain = (char[]){"local"};
    file_output(f, "z");
    expect_and_destroy(f, E_DATA, "functions call each other more than 32 deep, or themselves");
    file_destroy(&body);
}

/* --- data in other files --- */

typedef struct folder {
    char path[64], model[96];
} folder;

static folder make_folder(void)
{
    folder d = {.path = "/tmp/tequio-onnx-XXXXXX"};
    assert_non_null(mkdtemp(d.path));
    snprintf(d.model, sizeof d.model, "%s/model.onnx", d.path);
    return d;
}

static Onnx__StringStringEntryProto *entry(file *f, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *e = arena_alloc(f->a, sizeof *e);
    onnx__string_string_entry_proto__init(e);
    e->key = arena_strdup(f->a, key);
    e->value = arena_strdup(f->a, value);
    return e;
}

/* A model whose weights lie at `offset` of another file. */
static void write_model(const folder *d, const char *location, const char *offset)
{
    file *f = linear();
    buf bytes = BUF_INIT;
    Onnx__TensorProto *t = f->graph.initializer[0];
    Onnx__StringStringEntryProto *entries[] = {entry(f, "location", location),
                                               entry(f, "offset", offset)};
    t->n_float_data = 0;
    t->has_data_location = true;
    t->data_location = 1;
    t->external_data = entries;
    t->n_external_data = 2;
    file_pack(f, &bytes);
    assert_int_equal(fs_write_atomic(d->model, bytes.data, bytes.size, NULL), OK);
    buf_fini(&bytes);
    file_destroy(&f);
}

static status read_weights(const folder *d, float *values, error *err)
{
    onnx_model *m = NULL;
    onnx_weight w;
    assert_int_equal(onnx_open(d->model, &m, err), OK);
    assert_true(onnx_weight_find(m, "w", &w));
    status st = onnx_weight_read(m, &w, values, 18, err);
    onnx_close(&m);
    return st;
}

static void expect_refused(const folder *d, const char *location, const char *offset, status code,
                           const char *text)
{
    float values[18];
    error err = ERROR_INIT;
    write_model(d, location, offset);
    assert_int_equal(read_weights(d, values, &err), code);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not hold '%s'", err.text, text);
}

static void external_data(void **state)
{
    (void)state;
    folder d = make_folder();
    float values[20], read[18];
    for (int i = 0; i < 20; i++)
        values[i] = (float)i;
    char path[128], link[128], pipe[128];
    snprintf(path, sizeof path, "%s/weights.bin", d.path);
    snprintf(link, sizeof link, "%s/link", d.path);
    assert_int_equal(fs_write_atomic(path, values, sizeof values, NULL), OK);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    snprintf(pipe, sizeof pipe, "%s/pipe", d.path);
    assert_int_equal(mkfifo(pipe, 0600), 0);

    write_model(&d, "weights.bin", "8");
    assert_int_equal(read_weights(&d, read, NULL), OK);
    assert_true(read[0] == 2.0f && read[17] == 19.0f);

    expect_refused(&d, "weights.bin", "12", E_DATA,
                   "bytes 12 to 84 of 'weights.bin', which has 80");
    expect_refused(&d, "weights.bin", "18446744073709551612", E_DATA, "of 'weights.bin'");
    expect_refused(&d, "weights.bin", "-1", E_DATA, "the offset of its external data is '-1'");
    expect_refused(&d, "nowhere.bin", "0", E_DATA, "nowhere.bin': No such file");
    expect_refused(&d, "/etc/passwd", "0", E_DATA, "only files in the model's own folder are read");
    expect_refused(&d, "a/../../secret", "0", E_DATA, "only files in the model's own folder");
    expect_refused(&d, "pipe", "0", E_DATA, "pipe': not a regular file");
    expect_refused(&d, ".", "0", E_DATA, "not a regular file");
    expect_refused(&d, "link", "0", E_DATA, "a link that leads out of the model's folder");
    assert_int_equal(fs_remove_tree(d.path, NULL), OK);
}

/* Larger than any protobuf message: not even read. */
static void a_file_beyond_2_gb(void **state)
{
    (void)state;
    folder d = make_folder();
    onnx_model *m = NULL;
    error err = ERROR_INIT;
    write_model(&d, "weights.bin", "0");
    assert_int_equal(truncate(d.model, ((off_t)1 << 31) + 1), 0);
    assert_int_equal(onnx_open(d.model, &m, &err), E_DATA);
    assert_non_null(strstr(err.text, "larger than 2147483648 bytes"));
    assert_int_equal(fs_remove_tree(d.path, NULL), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files), cmocka_unit_test(deep_files),
        cmocka_unit_test(bad_tensors),   cmocka_unit_test(weights_that_are_no_numbers),
        cmocka_unit_test(bad_names),     cmocka_unit_test(bad_shapes),
        cmocka_unit_test(huge_results),  cmocka_unit_test(large_constants),
        cmocka_unit_test(bad_versions),  cmocka_unit_test(functions_that_call_themselves),
        cmocka_unit_test(external_data), cmocka_unit_test(a_file_beyond_2_gb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
