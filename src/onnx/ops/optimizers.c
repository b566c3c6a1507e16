/*
 * The optimizers of the domain ai.onnx.preview.training: R (rate), T (steps done) and, for each
 * tensor, X (weights), G (gradient) and its state; what comes out are weights and state after the
 * step. They decay by adding norm_coefficient * X to the gradient. src/optim is what trains here;
 * these are for files that hold a step of their own.
 */
#include "common/base/detmath.h"
#include "onnx/ops.h"

typedef struct update {
    call *c;
    double rate, norm, epsilon;
    int64_t steps;
    int32_t n;          /* tensors */
} update;

static status begin(call *c, int32_t groups, update *ret, error *err)
{
    double steps;
    update u = {.c = c,
                .n = (c->n_in - 2) / groups,
                .norm = call_float(c, "norm_coefficient"),
                .epsilon = call_knows(c, "epsilon") ? call_float(c, "epsilon") : 0.0};
    if (u.n < 1 || c->n_in != 2 + groups * u.n || c->n_out != (groups - 1) * u.n)
        return FAIL(err, E_DATA, "it has %d inputs and %d outputs, which do not go together",
                    (int)c->n_in, (int)c->n_out);
    TRY(call_known_number(c, 0, 0.0, &u.rate, err));
    TRY(call_known_number(c, 1, 0.0, &steps, err));
    u.steps = (int64_t)steps;
    *ret = u;
    return OK;
}

static status two(update *u, graph_op op, graph_val a, graph_val b, graph_val *ret, error *err)
{
    return call_emit(u->c, op, (graph_val[]){a, b}, 2, NULL, ret, err);
}

static status with_number(update *u, graph_op op, graph_val a, double number, graph_val *ret,
                          error *err)
{
    graph_val k;
    float value = (float)number;
    TRY(graph_const(u->c->im->g, NULL, DT_F32, (graph_shape){.rank = 0}, &value, &k, err));
    return two(u, op, a, k, ret, err);
}

/* p * a + q * b */
static status mix(update *u, double p, graph_val a, double q, graph_val b, graph_val *ret,
                  error *err)
{
    TRY(with_number(u, OP_MUL, a, p, &a, err));
    TRY(with_number(u, OP_MUL, b, q, &b, err));
    return two(u, OP_ADD, a, b, ret, err);
}

/* Tensor i of a group: 0 X, 1 G, and so on. */
static status operand(update *u, int32_t group, int32_t i, graph_val *ret, error *err)
{
    return call_value(u->c, 2 + group * u->n + i, ret, err);
}

static status regularized(update *u, int32_t i, graph_val x, graph_val *ret, error *err)
{
    TRY(operand(u, 1, i, ret, err));
    return mix(u, u->norm, x, 1.0, *ret, ret, err);
}

/* v / (sqrt(squares) + epsilon) */
static status by_root(update *u, graph_val v, graph_val squares, graph_val *ret, error *err)
{
    TRY(call_emit(u->c, OP_SQRT, &squares, 1, NULL, &squares, err));
    TRY(with_number(u, OP_ADD, squares, u->epsilon, &squares, err));
    return two(u, OP_DIV, v, squares, ret, err);
}

static status adagrad(update *u, int32_t i, double rate, error *err)
{
    graph_val x, g, h, square;
    TRY(operand(u, 0, i, &x, err));
    TRY(regularized(u, i, x, &g, err));
    TRY(operand(u, 2, i, &h, err));
    TRY(two(u, OP_MUL, g, g, &square, err));
    TRY(two(u, OP_ADD, h, square, &h, err));
    TRY(by_root(u, g, h, &g, err));
    TRY(mix(u, 1.0, x, -rate, g, &x, err));
    call_return(u->c, i, x);
    call_return(u->c, u->n + i, h);
    return OK;
}

status onnx_op_adagrad(call *c, error *err)
{
    update u;
    TRY(begin(c, 3, &u, err));
    double rate = u.rate / (1.0 + (double)u.steps * call_float(c, "decay_factor"));
    for (int32_t i = 0; i < u.n; i++)
        TRY(adagrad(&u, i, rate, err));
    return OK;
}

static status momentum(update *u, int32_t i, double alpha, double beta, bool nesterov, error *err)
{
    graph_val x, g, v, step;
    TRY(operand(u, 0, i, &x, err));
    TRY(regularized(u, i, x, &g, err));
    TRY(operand(u, 2, i, &v, err));
    TRY(mix(u, alpha, v, u->steps > 0 ? beta : 1.0, g, &v, err));
    step = v;
    if (nesterov)
        TRY(mix(u, 1.0, g, alpha, v, &step, err));
    TRY(mix(u, 1.0, x, -u->rate, step, &x, err));
    call_return(u->c, i, x);
    call_return(u->c, u->n + i, v);
    return OK;
}

status onnx_op_momentum(call *c, error *err)
{
    update u;
    TRY(begin(c, 3, &u, err));
    double alpha = call_float(c, "alpha"), beta = call_float(c, "beta");
    bool nesterov = *call_str(c, "mode") == 'n';
    for (int32_t i = 0; i < u.n; i++)
        TRY(momentum(&u, i, alpha, beta, nesterov, err));
    return OK;
}

static status adam(update *u, int32_t i, double alpha, double beta, double keep, error *err)
{
    graph_val x, g, v, h, square;
    double rate = u->rate, steps = (double)u->steps;
    if (u->steps > 0)
        rate *= det_sqrt(1.0 - det_pow(beta, steps)) / (1.0 - det_pow(alpha, steps));
    TRY(operand(u, 0, i, &x, err));
    TRY(regularized(u, i, x, &g, err));
    TRY(operand(u, 2, i, &v, err));
    TRY(operand(u, 3, i, &h, err));
    TRY(two(u, OP_MUL, g, g, &square, err));
    TRY(mix(u, alpha, v, 1.0 - alpha, g, &v, err));
    TRY(mix(u, beta, h, 1.0 - beta, square, &h, err));
    TRY(by_root(u, v, h, &g, err));
    TRY(mix(u, keep, x, -rate * keep, g, &x, err));
    call_return(u->c, i, x);
    call_return(u->c, u->n + i, v);
    call_return(u->c, 2 * u->n + i, h);
    return OK;
}

status onnx_op_adam(call *c, error *err)
{
    update u;
    TRY(begin(c, 4, &u, err));
    double alpha = call_float(c, "alpha"), beta = call_float(c, "beta");
    double keep = 1.0 - call_float(c, "norm_coefficient_post");
    for (int32_t i = 0; i < u.n; i++)
        TRY(adam(&u, i, alpha, beta, keep, err));
    return OK;
}
