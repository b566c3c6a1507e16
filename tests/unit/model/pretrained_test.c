/* Pretrained weights: files, folders, shards, names, types, and every refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/safetensors.h"
#include "model/pretrained.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 6 };

static const float values[N] = {1, -2, 0.5f, 3, 0, -0.25f};
static const uint16_t halves[N] = {0x3c00, 0xc000, 0x3800, 0x4200, 0, 0xb400};
static const uint16_t bfloats[N] = {0x3f80, 0xc000, 0x3f00, 0x4040, 0, 0xbe80};

typedef struct scene {
    char folder[64];
    flat *flat; /* "a.weight" [2,3], "head.bias" [6] */
    const checkpoint_names *names;
    float *out;
    buf report;
} scene;

static int set_up(void **state)
{
    scene *s = xcalloc(1, sizeof *s);
    const tensor_decl decls[] = {
        {.name = "a.weight", .rank = 2, .dim = {2, 3}, .init = {.kind = INIT_CONSTANT, .a = 9}},
        {.name = "head.bias", .rank = 1, .dim = {N}, .init = {.kind = INIT_CONSTANT, .a = 9}},
    };
    strcpy(s->folder, "/tmp/pretrained.XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    assert_int_equal(flat_create(decls, 2, &s->flat, NULL), OK);
    s->out = xcalloc((size_t)s->flat->n_elements, sizeof *s->out);
    s->report = (buf)BUF_INIT;
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    scene *s = *state;
    assert_int_equal(fs_remove_tree(s->folder, NULL), OK);
    flat_destroy(&s->flat);
    buf_fini(&s->report);
    free(s->out);
    free(s);
    return 0;
}

static st_tensor matrix(const char *name, dtype t, const void *data)
{
    return (st_tensor){.name = name, .dtype = t, .rank = 2, .dim = {2, 3}, .data = data};
}

static st_tensor row(const char *name, const void *data, int64_t n)
{
    return (st_tensor){.name = name, .dtype = DT_F32, .rank = 1, .dim = {n}, .data = data};
}

static void write_file(const scene *s, const char *name, const st_tensor *t, size_t n)
{
    char *path = xasprintf("%s/%s", s->folder, name);
    st_writer *w = NULL;
    assert_int_equal(st_writer_open(path, t, n, NULL, 0, &w, NULL), OK);
    for (size_t i = 0; i < n; i++) {
        size_t bytes = dtype_bytes(t[i].dtype) * (size_t)(t[i].dim[0] * (t[i].rank > 1 ? 3 : 1));
        assert_int_equal(st_writer_add(w, t[i].data, bytes, NULL), OK);
    }
    assert_int_equal(st_writer_close(&w, NULL, NULL, NULL), OK);
    free(path);
}

/* `more`: ", map: ..."; `model`: "type: 'mlp'" */
static status read_as(scene *s, const char *file, const char *more, const char *model, bool is_whole, error *err)
{
    char *text = xasprintf("{train_data_path: 'x', data_loader: {batch_size: 1}, model: {%s, "
                           "pretrained: {path: '%s/%s'%s}}}",
                           model, s->folder, file, more);
    config *c = NULL;
    assert_int_equal(config_load(&(config_source){.text = text}, &c, err), OK);
    s->report.size = 0;
    status st =
        pretrained_read(config_section(c, "model"), s->names, is_whole, s->flat, s->out, &s->report, err);
    config_destroy(&c);
    free(text);
    return st;
}

static status read_with(scene *s, const char *file, const char *more, error *err)
{
    return read_as(s, file, more, "type: 'mlp'", false, err);
}

static void expect_values(const scene *s, int32_t tensor)
{
    assert_memory_equal(s->out + s->flat->offset[tensor], values, sizeof values);
}

static void test_types_and_folders(void **state)
{
    scene *s = *state;
    const struct {
        dtype type;
        const void *data;
    } cases[] = {{DT_F32, values}, {DT_F16, halves}, {DT_BF16, bfloats}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        error err = ERROR_INIT;
        st_tensor t[] = {matrix("a.weight", cases[i].type, cases[i].data),
                         row("head.bias", values, N), row("spare", values, N)};
        write_file(s, "model.safetensors", t, 3);
        memset(s->out, 0, (size_t)s->flat->n_elements * sizeof *s->out);
        assert_int_equal(read_with(s, "", "", &err), OK);
        expect_values(s, 0);
        expect_values(s, 1);
        assert_non_null(strstr(s->report.data, "matched=2 drawn=0 unexpected=1 names=spare"));
    }
}

static void test_shards_and_names(void **state)
{
    scene *s = *state;
    error err = ERROR_INIT;
    static const char index[] = "{\"weight_map\": {\"net.x.a.w\": \"one.safetensors\", "
                                "\"head.bias\": \"two.safetensors\"}}";
    st_tensor one = matrix("net.x.a.w", DT_F32, values), two = row("head.bias", values, N);
    write_file(s, "one.safetensors", &one, 1);
    write_file(s, "two.safetensors", &two, 1);
    char *path = xasprintf("%s/model.safetensors.index.json", s->folder);
    assert_int_equal(fs_write_atomic(path, index, strlen(index), NULL), OK);
    assert_int_equal(read_with(s, "", ", map: {'net\\\\.(x|y)\\\\.(.*)\\\\.w': '$2.weight'}", &err),
                     OK);
    expect_values(s, 0);
    expect_values(s, 1);
    static const char bad[] = "{\"weight_map\": {\"a\": \"../one.safetensors\"}}";
    assert_int_equal(fs_write_atomic(path, bad, strlen(bad), NULL), OK);
    assert_int_equal(read_with(s, "", "", &err), E_DATA);
    assert_non_null(strstr(err.text, "'../one.safetensors' is not the name of a file beside it"));
    free(path);
}

static void test_what_is_missing(void **state)
{
    scene *s = *state;
    error err = ERROR_INIT;
    st_tensor short_row = row("head.bias", values, 4);
    write_file(s, "w.safetensors", &short_row, 1);
    assert_int_equal(read_with(s, "w.safetensors", "", &err), E_DATA);
    assert_non_null(strstr(err.text, "'a.weight' is missing; 'head.bias' is [4], here [6]; tensors "
                                     "to draw belong into model.pretrained.ignore"));
    error_clear(&err);
    s->out[s->flat->offset[1]] = 9;
    assert_int_equal(read_with(s, "w.safetensors", ", ignore: ['head.*', 'a.weight']", &err), OK);
    assert_true(s->out[s->flat->offset[1]] == 9);
    assert_non_null(strstr(s->report.data, "matched=0 drawn=2 unexpected=0"));
}

static void test_refusals(void **state)
{
    scene *s = *state;
    error err = ERROR_INIT;
    const float bad[N] = {1, 2, NAN, 0, 0, 0};
    st_tensor t[] = {matrix("a.weight", DT_F32, bad), row("head.bias", values, N)};
    write_file(s, "w.safetensors", t, 2);
    assert_int_equal(read_with(s, "w.safetensors", "", &err), E_DATA);
    assert_non_null(strstr(err.text, "tensor 'a.weight': element 2 is not finite"));
    error_clear(&err);
    assert_int_equal(read_with(s, "w.safetensors", ", map: {'(': 'x'}", &err), E_CONFIG);
    assert_non_null(strstr(err.text, "model.pretrained.map: '('"));
    error_clear(&err);
    assert_int_equal(read_with(s, "w.safetensors", ", map: {'a.*': 'head.bias'}", &err), E_DATA);
    assert_non_null(strstr(err.text, "are both 'head.bias' here"));
    error_clear(&err);
    assert_int_equal(read_with(s, "w.safetensors", ", map: {'a.*': 'x', '.*': 'y'}", &err),
                     E_CONFIG);
    assert_non_null(strstr(err.text, "two patterns match 'a.weight'"));
    error_clear(&err);
    assert_int_not_equal(read_with(s, "nothing.safetensors", "", &err), OK);
}

/* Of an adapter both are drawn, or none. */
static void test_half_an_adapter(void **state)
{
    scene *s = *state;
    error err = ERROR_INIT;
    static const char lora[] = "type: 'mlp', lora: {patterns: ['fc1']}";
    const tensor_decl decls[] = {
        {.name = "a.lora_A.weight", .rank = 2, .dim = {2, 3}, .init = {.kind = INIT_CONSTANT}},
        {.name = "a.lora_B.weight", .rank = 2, .dim = {2, 3}, .init = {.kind = INIT_CONSTANT}},
    };
    flat_destroy(&s->flat);
    assert_int_equal(flat_create(decls, 2, &s->flat, NULL), OK);
    const st_tensor spare = row("spare", values, N);
    write_file(s, "w.safetensors", &spare, 1);
    assert_int_equal(read_as(s, "w.safetensors", "", lora, false, &err), OK);
    assert_non_null(strstr(s->report.data, "matched=0 drawn=2"));
    assert_int_equal(read_as(s, "w.safetensors", "", "type: 'mlp'", false, &err), E_DATA);
    error_clear(&err);
    for (int i = 0; i < 2; i++) {
        const st_tensor half = matrix(decls[i].name, DT_F32, values);
        char *missing = xasprintf("'%s' is missing", decls[1 - i].name);
        write_file(s, "w.safetensors", &half, 1);
        assert_int_equal(read_as(s, "w.safetensors", "", lora, false, &err), E_DATA);
        assert_non_null(strstr(err.text, missing));
        error_clear(&err);
        free(missing);
    }
    assert_int_equal(read_as(s, "w.safetensors", ", ignore: ['*.lora_?.weight']", lora, false, &err), OK);
}

/* A head may be drawn for training, but not where nobody trains it. */
static void test_whole(void **state)
{
    scene *s = *state;
    error err = ERROR_INIT;
    static const checkpoint_names network = {"net.", "a."};
    const st_tensor t = matrix("a.weight", DT_F32, values);
    write_file(s, "w.safetensors", &t, 1);
    s->names = &network;
    static const char described[] = "{\"model_type\": \"bert\", \"vocab_size\": 11}";
    char *file = xasprintf("%s/config.json", s->folder);
    char *of_name = xasprintf("type: 'bert', transformer_model_name: '%s'", s->folder);
    assert_int_equal(fs_write_atomic(file, described, strlen(described), &err), OK);
    assert_int_equal(read_as(s, "w.safetensors", "", of_name, false, &err), OK);
    assert_non_null(strstr(s->report.data, "matched=1 drawn=1"));
    assert_int_equal(read_as(s, "w.safetensors", "", of_name, true, &err), E_DATA);
    assert_non_null(strstr(err.text, "'head.bias' is missing; tensors to draw belong into model.pretrained.ignore"));
    error_clear(&err);
    assert_int_equal(read_as(s, "w.safetensors", ", ignore: ['head.*']", of_name, true, &err), OK);
    free(of_name);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_types_and_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shards_and_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_half_an_adapter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_whole, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
