#include "unit/graph/support_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

void check_row(const row *r)
{
    graph *g = make_graph();
    graph_val in[ROW_IN], out[ROW_OUT];
    int32_t n_in = 0;
    char name[16], text[ERROR_TEXT];
    for (; n_in < ROW_IN && r->in[n_in].presence != END; n_in++) {
        snprintf(name, sizeof name, "in%d", (int)n_in);
        in[n_in] = r->in[n_in].presence == ABSENT
                       ? GRAPH_NONE
                       : make_input(g, name, r->in[n_in].t, r->in[n_in].shape);
    }
    if (r->refused) {
        snprintf(text, sizeof text, "n (%s): %s", graph_op_of(r->op)->name, r->refused);
        assert_refused(g, r->op, "n", in, (size_t)n_in, r->attr, text);
    } else {
        error err = ERROR_INIT;
        if (graph_add(g, r->op, "n", in, n_in, r->attr, out, &err) != OK)
            fail_msg("%s", err.text);
        for (int32_t i = 0; i < graph_op_of(r->op)->n_out; i++) {
            if (r->out[i])
                assert_shape(g, out[i], r->out[i]);
            else
                assert_int_equal(out[i], GRAPH_NONE);
        }
    }
    graph_destroy(&g);
}
