/* Element types that a graph does not have: what a number becomes in them, and what a file's nodes
 * make of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/element.h"
#include "unit/onnx/support_import.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void numbers_are_rounded_to_their_type(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        double value;
        bool saturate;
        double expected; /* of the formats' own pages */
    } rows[] = {
        {"float16", 0.1, false, 0.0999755859375},
        {"float16", 65520.0, false, INFINITY},
        {"float16", 65519.0, false, 65504.0},
        {"float16", 0x1p-25, false, 0.0},
        {"float16", 0x1.8p-25, false, 0x1p-24},
        {"bfloat16", 1.00390625, false, 1.0},
        {"float8e4m3fn", 0.47892547, true, 0.46875},
        {"float8e4m3fn", 1e6, true, 448.0},
        {"float8e4m3fn", 1e6, false, NAN},
        {"float8e5m2", 1e6, false, INFINITY},
        {"float8e5m2", -1e6, true, -57344.0},
        {"float8e4m3fnuz", 1e6, true, 240.0},
        {"float8e5m2fnuz", INFINITY, false, NAN},
        {"float4e2m1", 2.5, true, 2.0},
        {"float4e2m1", -3.5, true, -4.0},
        {"float4e2m1", 9.0, true, 6.0},
        {"float8e8m0", 3.0, true, 4.0},
        {"float32", 0.1, true, 0x1.99999ap-4},
        {"float64", 0.1, false, 0.1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double y = element_round(element_named(rows[i].type), rows[i].value, rows[i].saturate);
        bool same = isnan(rows[i].expected) ? isnan(y) : y == rows[i].expected;
        if (!same)
            fail_msg("%s of %g is %g, not %g", rows[i].type, rows[i].value, y, rows[i].expected);
    }
}

/* Every code of a small float is a number that stays as it is. */
static void codes_are_what_rounding_gives(void **state)
{
    (void)state;
    for (int32_t number = 1; number < 27; number++) {
        const onnx_element *e = element_of(number);
        bool seen = false;
        for (uint64_t bits = 0; e->kind == ELEMENT_FLOAT && e->bits <= 8 && bits >> e->bits == 0;
             bits++) {
            double x = element_decode(e, bits);
            seen |= x == e->most;
            if (isfinite(x) && element_round(e, x, false) != x)
                fail_msg("code %d of %s is %g, which rounds", (int)bits, e->name, x);
            assert_false(isinf(x) && !e->has_infinity);
        }
        if (e->kind == ELEMENT_FLOAT && e->bits <= 8 && !seen)
            fail_msg("no code of %s is its largest number", e->name);
    }
    assert_true(element_decode(element_named("float8e4m3fn"), 0x38) == 1.0);
    assert_true(element_decode(element_named("float8e5m2"), 0x7b) == 57344.0);
    assert_true(element_decode(element_named("float4e2m1"), 0x9) == -0.5);
    assert_true(isnan(element_decode(element_named("float8e4m3fnuz"), 0x80)));
}

static void integers_wrap(void **state)
{
    (void)state;
    assert_int_equal(element_wrap(element_named("int8"), 200), -56);
    assert_int_equal(element_wrap(element_named("uint16"), -1), 65535);
    assert_int_equal(element_wrap(element_named("int4"), 9), -7);
    assert_int_equal(element_wrap(element_named("uint32"), -1), 4294967295);
    assert_int_equal(element_wrap(element_named("int64"), INT64_MIN), INT64_MIN);
    assert_int_equal(element_wrap(element_named("bool"), 256), 1);
}

enum { INT8 = 3, UINT64 = 13 };

/* What is known is wrapped at once, what is not by nodes. */
static void sums_of_bytes_wrap(void **state)
{
    (void)state;
    file *f = file_create(17);
    Onnx__TensorProto *t = file_ints(f, "a", "0");
    t->data_type = INT8;
    t->n_int64_data = 0;
    t->n_int32_data = 1;
    t->int32_data = (int32_t[]){100};
    file_node(f, "Add", "a a", "y");
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(p.i.outputs[0].element, INT8);
    assert_int_equal(host_get_int(p.i.outputs[0].host, 0), -56);
    imported_fini(&p);
    t->int32_data = NULL;
    file_destroy(&f);

    f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_int(f, file_node(f, "Cast", "x", "b"), "to", INT8);
    file_node(f, "Mul", "b b", "y");
    file_output(f, "y");
    p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(p.i.outputs[0].element, INT8);
    assert_int_equal(count_ops(&p, OP_MOD), 2);
    imported_fini(&p);
    file_destroy(&f);
}

static void what_has_no_place_is_refused(void **state)
{
    (void)state;
    file *f = file_create(19);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_int(f, file_node(f, "Cast", "x", "y"), "to", UINT64);
    file_output(f, "y");
    expect_error(f, E_UNSUPPORTED,
                 "node 'Cast_0' (Cast): it makes uint64 of data, which is not supported");
    f->graph.node[0]->attribute[0]->i = 17;
    expect_error(f, E_UNSUPPORTED, "node 'Cast_0' (Cast): it casts data to float8e4m3fn");
    f->graph.node[0]->attribute[0]->i = 8;
    expect_error(f, E_UNSUPPORTED, "node 'Cast_0' (Cast): it casts to string");
    file_destroy(&f);
}

/* Sums of products that float32 cannot hold exactly are refused, not rounded. */
static void integer_products_are_exact(void **state)
{
    (void)state;
    for (int n = 258; n <= 259; n++) {
        char shape[2][16];
        file *f = file_create(17);
        snprintf(shape[0], sizeof shape[0], "6,%d", n);
        snprintf(shape[1], sizeof shape[1], "%d,2", n);
        file_input(f, "x", FILE_FLOAT, "N,6");
        file_weights(f, "u", shape[0]);
        file_weights(f, "v", shape[1]);
        file_node(f, "MatMul", "x u", "xu");
        file_int(f, file_node(f, "Cast", "xu", "a"), "to", INT8);
        file_int(f, file_node(f, "Cast", "v", "b"), "to", INT8);
        file_node(f, "MatMulInteger", "a b", "y");
        file_output(f, "y");
        if (n == 259)
            expect_error(f, E_UNSUPPORTED,
                         "(MatMulInteger): it sums 259 products; up to 258 are exact here");
        else {
            imported p = import_ok(f, ONNX_TRAIN);
            assert_int_equal(p.i.outputs[0].element, FILE_INT32);
            imported_fini(&p);
        }
        file_destroy(&f);
    }
}

static void sequences_have_no_element(void **state)
{
    (void)state;
    file *f = file_create(19);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "scale", "");
    file_node(f, "SplitToSequence", "x", "parts");
    file_node(f, "QuantizeLinear", "x scale parts", "y");
    file_output(f, "y");
    expect_error(f, E_UNSUPPORTED, "(QuantizeLinear): it quantises to float32");
    file_destroy(&f);
}

/* What is unrolled has an end. */
static void long_recurrences_are_refused(void **state)
{
    (void)state;
    file *f = file_create(27);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_ints(f, "shape", "1,1,24");
    file_ints(f, "long", "1,1025,24");
    file_node(f, "Reshape", "x shape", "one");
    file_node(f, "Expand", "one long", "q");
    Onnx__NodeProto *n = file_node(f, "LinearAttention", "q q q", "y");
    file_int(f, n, "q_num_heads", 2);
    file_int(f, n, "kv_num_heads", 2);
    file_string(f, n, "update_rule", "linear");
    file_output(f, "y");
    expect_error(f, E_UNSUPPORTED,
                 "(LinearAttention): it has 1025 positions; 1 to 1024 are unrolled");
    n->attribute[2]->s.len = 3; /* lin */
    expect_error(f, E_DATA, "its update_rule is 'lin'");
    file_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_rounded_to_their_type),
        cmocka_unit_test(codes_are_what_rounding_gives),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(sums_of_bytes_wrap),
        cmocka_unit_test(what_has_no_place_is_refused),
        cmocka_unit_test(integer_products_are_exact),
        cmocka_unit_test(long_recurrences_are_refused),
        cmocka_unit_test(sequences_have_no_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
