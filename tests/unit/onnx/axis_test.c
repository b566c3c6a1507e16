/*
 * An axis counted from the end is the axis it is: every operator that has one gives the same graph,
 * and the same gradient, whichever way the file says it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/attrs.h"
#include "graph/print.h"
#include "unit/onnx/support_import.h"

#include <stdlib.h>
#include <string.h>

/* How the axis is said. */
typedef enum saying {
    AXIS,  /* by the attribute `axis` */
    AXES,  /* by the attribute `axes`, a list */
    INPUT, /* by the input `at` */
} saying;

/* Names of inputs: h [4,6] depends on a weight; what else there is stands in begin(). */
typedef struct row {
    const char *type;
    int64_t opset;
    const char *inputs, *outputs;
    saying how;
    const char *from_end, *from_begin;
} row;

static const row rows[] = {
    {"ArgMax", 13, "h", "y", AXIS, "-1", "1"},
    {"ArgMin", 13, "h", "y", AXIS, "-2", "0"},
    {"Compress", 11, "h some", "y", AXIS, "-1", "1"},
    {"Concat", 13, "h h", "y", AXIS, "-1", "1"},
    {"CumSum", 14, "h at", "y", INPUT, "-1", "1"},
    {"Flatten", 13, "h", "y", AXIS, "-1", "1"},
    {"Gather", 13, "h some", "y", AXIS, "-2", "0"},
    {"GatherElements", 13, "h by", "y", AXIS, "-1", "1"},
    {"Hardmax", 13, "h", "y", AXIS, "-1", "1"},
    {"Hardmax", 12, "h", "y", AXIS, "-1", "1"},
    {"LayerNormalization", 17, "h scale", "y", AXIS, "-1", "1"},
    {"LogSoftmax", 13, "h", "y", AXIS, "-2", "0"},
    {"LogSoftmax", 12, "h", "y", AXIS, "-1", "1"},
    {"LpNormalization", 13, "h", "y", AXIS, "-2", "0"},
    {"MeanVarianceNormalization", 13, "h", "y", AXES, "-1,-2", "1,0"},
    {"OneHot", 13, "h depth pair", "y", AXIS, "-1", "2"},
    {"Pad", 18, "h pair - at", "y", INPUT, "-1", "1"},
    {"ReduceL1", 13, "h", "y", AXES, "-1", "1"},
    {"ReduceL2", 18, "h at", "y", INPUT, "-1", "1"},
    {"ReduceLogSum", 13, "h", "y", AXES, "-2", "0"},
    {"ReduceLogSumExp", 18, "h at", "y", INPUT, "-2", "0"},
    {"ReduceMax", 13, "h", "y", AXES, "-1,0", "1,0"},
    {"ReduceMean", 18, "h at", "y", INPUT, "-1", "1"},
    {"ReduceMin", 13, "h", "y", AXES, "-1", "1"},
    {"ReduceProd", 18, "h at", "y", INPUT, "-1", "1"},
    {"ReduceSum", 13, "h at", "y", INPUT, "-2,-1", "0,1"},
    {"ReduceSumSquare", 13, "h", "y", AXES, "-2", "0"},
    {"Resize", 18, "h - - pair", "y", AXES, "-1,-2", "1,0"},
    {"RMSNormalization", 23, "h scale", "y", AXIS, "-1", "1"},
    {"Scatter", 9, "h by patch", "y", AXIS, "-1", "1"},
    {"ScatterElements", 13, "h by patch", "y", AXIS, "-2", "0"},
    {"Slice", 13, "h one two at", "y", INPUT, "-1", "1"},
    {"Softmax", 13, "h", "y", AXIS, "-2", "0"},
    {"Softmax", 12, "h", "y", AXIS, "-1", "1"},
    {"Split", 13, "h halves", "y z", AXIS, "-1", "1"},
    {"Squeeze", 13, "tall at", "y", INPUT, "-2", "1"},
    {"TopK", 13, "h two", "y", AXIS, "-1", "1"},
    {"Unsqueeze", 13, "h at", "y", INPUT, "-2", "1"},
};

static file *begin(const row *r, const char *axis)
{
    file *f = file_create(r->opset);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "scale", "6");
    file_weights(f, "patch", "2,2");
    file_ints(f, "some", "1,0");
    file_ints(f, "places", "1,0,1,1");
    file_ints(f, "pair", "5,7");
    file_ints(f, "sides", "2,2");
    file_ints(f, "sides_of_tall", "4,1,6");
    file_ints(f, "depth", "9");
    file_ints(f, "one", "1");
    file_ints(f, "two", "2");
    file_ints(f, "halves", "2,4");
    if (r->how == INPUT)
        file_ints(f, "at", axis);
    file_node(f, "Mul", "x scale", "h");
    file_node(f, "Reshape", "places sides", "by");
    file_node(f, "Reshape", "h sides_of_tall", "tall");
    Onnx__NodeProto *n = file_node(f, r->type, r->inputs, r->outputs);
    if (r->how == AXIS)
        file_int(f, n, "axis", strtoll(axis, NULL, 10));
    if (r->how == AXES)
        file_list(f, n, "axes", axis);
    file_output(f, "y");
    return f;
}

static void differentiate(const imported *p)
{
    graph_val y = p->i.outputs[0].value, loss, weight;
    error err = ERROR_INIT;
    if (graph_value_at(p->g, y)->dtype != DT_F32)
        return;
    assert_int_equal(graph_add_1(p->g, OP_REDUCE_SUM, "loss", &y, 1, NULL, &loss, &err), OK);
    assert_int_equal(graph_input(p->g, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err),
                     OK);
    if (graph_backward(p->g, loss, weight, &err) != OK)
        fail_msg("%s", err.text);
}

/* The axis of a node whose shapes may not tell it; it is the first of the attributes. */
static void add_axes(const graph_node *n, buf *out)
{
    const reduce_attr *over = n->attr;
    switch (n->op) {
    case OP_SOFTMAX:
    case OP_SOFTMAX_BWD:
    case OP_LOG_SOFTMAX:
    case OP_LOG_SOFTMAX_BWD:
    case OP_HARDMAX:
    case OP_CONCAT:
    case OP_FLATTEN:
    case OP_CUM_SUM:
    case OP_ARG_MAX:
    case OP_ARG_MIN:
    case OP_GATHER:
    case OP_GATHER_BWD:
    case OP_GATHER_ELEMENTS:
    case OP_SCATTER_ELEMENTS:
    case OP_LAYER_NORMALIZATION:
    case OP_LAYER_NORMALIZATION_BWD:
    case OP_RMS_NORMALIZATION:
    case OP_RMS_NORMALIZATION_BWD:
    case OP_ONE_HOT:
    case OP_TOP_K:
        buf_addf(out, "%s: axis %d\n", n->name, (int)*(const int32_t *)n->attr);
        break;
    case OP_REDUCE_MEAN:
    case OP_REDUCE_SUM:
        for (int32_t i = 0; i < over->n_axes; i++)
            buf_addf(out, "%s: over %d\n", n->name, (int)over->axes[i]);
        break;
    default:
        break;
    }
}

static buf described(const row *r, const char *axis)
{
    buf text = BUF_INIT;
    error err = ERROR_INIT;
    file *f = begin(r, axis);
    imported p;
    if (import(f, ONNX_TRAIN, false, &p, &err) != OK)
        fail_msg("%s, axis %s: %s", r->type, axis, err.text);
    differentiate(&p);
    graph_print(p.g, &text);
    for (int32_t i = 0; i < graph_n_nodes(p.g); i++)
        add_axes(graph_node_at(p.g, i), &text);
    imported_fini(&p);
    file_destroy(&f);
    return text;
}

static void an_axis_may_be_counted_from_the_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        buf from_end = described(&rows[i], rows[i].from_end);
        buf from_begin = described(&rows[i], rows[i].from_begin);
        if (strcmp(from_end.data, from_begin.data) != 0)
            fail_msg("%s: axis %s gives\n%saxis %s gives\n%s", rows[i].type, rows[i].from_end,
                     from_end.data, rows[i].from_begin, from_begin.data);
        buf_fini(&from_end);
        buf_fini(&from_begin);
    }
}

/* 2^32 further it would be the same axis to who keeps 32 bits of it. */
static void an_axis_of_more_than_32_bits_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            error err = ERROR_INIT;
            buf axes = BUF_INIT;
            int64_t first = strtoll(rows[i].from_begin, NULL, 10) + sign * (INT64_C(1) << 32);
            const char *others = strchr(rows[i].from_begin, ',');
            buf_addf(&axes, "%lld%s", (long long)first, others ? others : "");
            file *f = begin(&rows[i], axes.data);
            imported p;
            if (import(f, ONNX_TRAIN, false, &p, &err) == OK)
                fail_msg("%s, axis %s: taken", rows[i].type, axes.data);
            if (!strstr(err.text, "axis") && !strstr(err.text, "axes"))
                fail_msg("%s, axis %s: %s", rows[i].type, axes.data, err.text);
            imported_fini(&p);
            buf_fini(&axes);
            file_destroy(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_axis_may_be_counted_from_the_end),
        cmocka_unit_test(an_axis_of_more_than_32_bits_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
