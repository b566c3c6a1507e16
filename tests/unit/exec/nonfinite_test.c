/* Which node made the first number that is none, in forward and backward, and of what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/nonfinite.h"
#include "graph/attrs.h"

#include <math.h>
#include <string.h>

enum { N = 4 };

typedef struct chain {
    graph *g;
    flat *flat;
    graph_val last;
} chain;

static chain chain_of_x(void)
{
    chain c = {.flat = NULL};
    assert_int_equal(graph_create(&c.g, NULL), OK);
    assert_int_equal(graph_input(c.g, "x", DT_F32, (graph_shape){1, {N}}, &c.last, NULL), OK);
    return c;
}

static graph_val constant(chain *c, float x)
{
    graph_val v;
    assert_int_equal(graph_const(c->g, NULL, DT_F32, (graph_shape){.rank = 0}, &x, &v, NULL), OK);
    return v;
}

static void then(chain *c, graph_op op, const char *name, graph_val other)
{
    graph_val in[] = {c->last, other};
    int32_t n = other == GRAPH_NONE ? 1 : 2;
    assert_int_equal(graph_add_1(c->g, op, name, in, n, NULL, &c->last, NULL), OK);
}

/* What is found where x is 0, 1, 2, 3, and the sentence about operands. */
static void expect(chain *c, const char *node, bool is_nan, const char *operands)
{
    const graph *g = c->g;
    float weights[64] = {2.0f, 2.0f, 2.0f, 2.0f};
    exec *e = NULL;
    error err = ERROR_INIT;
    nonfinite found;
    buf text = BUF_INIT;
    graph_keep(c->g, c->last);
    const exec_options options = {.backend = &backend_cpu,
                                  .device = {.threads = 1},
                                  .flat = c->flat,
                                  .graphs = &g,
                                  .n_graphs = 1};
    if (exec_create(&options, &e, &err) != OK)
        fail_msg("%s", err.text);
    exec_bind_params(e, weights);
    float *x = exec_input(e, 0, "x", NULL), *weight = exec_input(e, 0, "weight", NULL);
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    if (weight)
        *weight = 1.0f;
    assert_int_equal(exec_find_nonfinite(e, 0, &found, &text, &err), OK);
    if (!node) {
        assert_null(found.node);
    } else {
        assert_non_null(found.node);
        assert_string_equal(found.node->name, node);
        assert_int_equal(found.is_nan, is_nan);
        assert_string_equal(text.data, operands);
    }
    buf_fini(&text);
    exec_destroy(&e);
    flat_destroy(&c->flat);
    graph_destroy(&c->g);
}

static void finite_numbers_name_nobody(void **state)
{
    (void)state;
    chain c = chain_of_x();
    then(&c, OP_MUL, "twice", constant(&c, 2.0f));
    expect(&c, NULL, false, NULL);
}

/* What is overwritten by the node is told as it was before. */
static void a_nan_names_its_maker(void **state)
{
    (void)state;
    chain c = chain_of_x();
    then(&c, OP_SUB, "lower", constant(&c, 2.5f));
    then(&c, OP_SQRT, "root", GRAPH_NONE);
    then(&c, OP_ADD, "more", constant(&c, 1.0f));
    expect(&c, "root", true, "'lower' from -2.5 to 0.5");
}

static void an_overflow_comes_before_the_nan_that_it_becomes(void **state)
{
    (void)state;
    chain c = chain_of_x();
    then(&c, OP_MUL, "large", constant(&c, 100.0f));
    then(&c, OP_EXP, "e", GRAPH_NONE);
    then(&c, OP_SUB, "nothing", c.last);
    expect(&c, "e", false, "'large' from 0 to 300");
}

/* A mask's infinity is meant; a NaN of it is named all the same. */
static void an_infinity_that_was_given_is_nobodys(void **state)
{
    (void)state;
    chain c = chain_of_x();
    then(&c, OP_ADD, "masked", constant(&c, -INFINITY));
    then(&c, OP_EXP, "zeros", GRAPH_NONE);
    expect(&c, NULL, false, NULL);
    c = chain_of_x();
    then(&c, OP_ADD, "masked", constant(&c, -INFINITY));
    then(&c, OP_SUB, "nothing", c.last);
    expect(&c, "nothing", true, "'masked' from -inf to -inf");
}

static void backward_is_looked_at_too(void **state)
{
    (void)state;
    chain c = chain_of_x();
    const tensor_decl decl = {.name = "w", .rank = 1, .dim = {N}, .decay = true};
    graph_val w, weight;
    assert_int_equal(graph_param(c.g, &decl, &w, NULL), OK);
    then(&c, OP_MUL, "product", w);
    then(&c, OP_SQRT, "root", GRAPH_NONE);
    then(&c, OP_MUL, "square", c.last);
    assert_int_equal(graph_add_1(c.g, OP_REDUCE_MEAN, "loss", &c.last, 1,
                                 &(reduce_attr){.drop_dims = true}, &c.last, NULL),
                     OK);
    assert_int_equal(graph_input(c.g, "weight", DT_F32, (graph_shape){1, {1}}, &weight, NULL), OK);
    assert_int_equal(graph_backward(c.g, c.last, weight, NULL), OK);
    assert_int_equal(flat_create(&decl, 1, &c.flat, NULL), OK);
    expect(&c, "root.SqrtBwd", true,
           "'square.Add' from 0 to 1.22474, 'root' from 0 to 2.44949");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finite_numbers_name_nobody),
        cmocka_unit_test(a_nan_names_its_maker),
        cmocka_unit_test(an_overflow_comes_before_the_nan_that_it_becomes),
        cmocka_unit_test(an_infinity_that_was_given_is_nobodys),
        cmocka_unit_test(backward_is_looked_at_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
