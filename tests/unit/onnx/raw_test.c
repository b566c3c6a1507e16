/* Values that stay in the file: the model is the one that reading all of it gives, whole or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/raw.h"
#include "unit/onnx/support_file.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE = 8000 };

static Onnx__TensorProto *raw_weights(file *f, const char *name, size_t bytes)
{
    Onnx__TensorProto *t = file_weights(f, name, "1");
    t->n_float_data = 0;
    t->float_data = NULL;
    t->dims[0] = (int64_t)(bytes / sizeof(float));
    t->has_raw_data = 1;
    t->raw_data.len = bytes;
    t->raw_data.data = arena_alloc(f->a, bytes);
    for (size_t i = 0; i < bytes; i++)
        t->raw_data.data[i] = (uint8_t)(i % 7);
    return t;
}

static file *with_weights(void)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    raw_weights(f, "large", LARGE);
    raw_weights(f, "small", 40);
    file_weights(f, "typed", "6");
    raw_weights(f, "larger", 2 * LARGE);
    file_node(f, "Add", "x typed", "y");
    file_output(f, "y");
    return f;
}

/* Byte for byte, as both are written. */
static void expect_same(const Onnx__ModelProto *a, const Onnx__ModelProto *b)
{
    size_t n = onnx__model_proto__get_packed_size(a);
    assert_int_equal(onnx__model_proto__get_packed_size(b), n);
    uint8_t *x = xmalloc(n), *y = xmalloc(n);
    onnx__model_proto__pack(a, x);
    onnx__model_proto__pack(b, y);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

static void large_values_stay_where_they_are(void **state)
{
    (void)state;
    file *f = with_weights();
    buf packed = BUF_INIT, rest = BUF_INIT;
    onnx_raw r;
    error err = ERROR_INIT;
    file_pack(f, &packed);
    assert_true(raw_take_out(packed.data, packed.size, &r, &rest));
    assert_true(rest.size < packed.size - 3 * LARGE);
    assert_int_equal(r.n, 4);
    assert_true(r.at[0].data && !r.at[1].data && !r.at[2].data && r.at[3].data);
    assert_int_equal(r.at[0].bytes, LARGE);
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, rest.size, (const uint8_t *)rest.data);
    assert_non_null(m);
    assert_int_equal(raw_put_in(&r, m, &err), OK);
    assert_ptr_equal(m->graph->initializer[3]->raw_data.data, r.at[3].data);
    expect_same(m, &f->proto);
    raw_put_out(&r, m);
    onnx__model_proto__free_unpacked(m, NULL);
    raw_fini(&r);
    buf_fini(&rest);
    buf_fini(&packed);
    file_destroy(&f);
}

/* Cut short anywhere, or with any byte another one: both ways are a model, and the same, or neither is. */
static void check_damaged(const unsigned char *data, size_t bytes)
{
    onnx_raw r = {.at = NULL};
    buf rest = BUF_INIT;
    if (!raw_take_out(data, bytes, &r, &rest))
        return;
    Onnx__ModelProto *whole = onnx__model_proto__unpack(NULL, bytes, data);
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, rest.size, (const uint8_t *)rest.data);
    bool fits = m && raw_put_in(&r, m, NULL) == OK;
    assert_true(fits == (whole != NULL));
    if (fits) {
        expect_same(m, whole);
        raw_put_out(&r, m);
    }
    if (m)
        onnx__model_proto__free_unpacked(m, NULL);
    if (whole)
        onnx__model_proto__free_unpacked(whole, NULL);
    raw_fini(&r);
    buf_fini(&rest);
}

static void damage_is_seen_as_it_was(void **state)
{
    (void)state;
    file *f = with_weights();
    buf packed = BUF_INIT;
    file_pack(f, &packed);
    for (size_t n = 0; n < packed.size; n += n < 300 || n + 300 > packed.size ? 1 : 97) {
        unsigned char *copy = xmalloc(packed.size);
        memcpy(copy, packed.data, packed.size);
        check_damaged(copy, n);
        for (int bit = 0; bit < 8; bit++) {
            copy[n] ^= (unsigned char)(1u << bit);
            check_damaged(copy, packed.size);
            copy[n] ^= (unsigned char)(1u << bit);
        }
        free(copy);
    }
    buf_fini(&packed);
    file_destroy(&f);
}

static void small_files_are_read_whole(void **state)
{
    (void)state;
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "typed", "6");
    file_node(f, "Add", "x typed", "y");
    file_output(f, "y");
    buf packed = BUF_INIT, rest = BUF_INIT;
    onnx_raw r = {.at = (onnx_raw_data[1]){{0}}, .n = 1};
    file_pack(f, &packed);
    assert_false(raw_take_out(packed.data, packed.size, &r, &rest));
    assert_int_equal(rest.size, 0);
    assert_null(r.at);
    assert_int_equal(r.n, 0);
    buf_fini(&packed);
    file_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_values_stay_where_they_are),
        cmocka_unit_test(damage_is_seen_as_it_was),
        cmocka_unit_test(small_files_are_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
