#include "unit/onnx/support_fusing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void fusing_number(file *f, const char *name, float value)
{
    file_float(f, file_node(f, "Constant", "", name), "value_float", value);
}

file *fusing_begin(void)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    return f;
}

imported fusing_ends_as(file *f, graph_op op, int32_t n_nodes)
{
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(count_ops(&p, op), 1);
    assert_int_equal(graph_n_nodes(p.g), n_nodes);
    return p;
}

void fusing_finish(file *f, imported *p)
{
    imported_fini(p);
    file_destroy(&f);
}
