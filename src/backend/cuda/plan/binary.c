/* Arithmetic of two operands that broadcast. */
#include "backend/cuda/kernels/binary.h"
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/plan/plan.h"
#include "graph/op_by_name.h"

typedef struct binary_state {
    axes over;
    launch_types types;
    dtype type; /* of whole numbers */
    binary_function of_floats;
    whole_function of_wholes;
} binary_state;

static const struct {
    bool floats, wholes;
    binary_function of_floats;
    whole_function of_wholes;
} functions[OP_COUNT] = {
#define FLOAT(name, expression)                                                                    \
    [OP_OF_##name].floats = true, [OP_OF_##name].of_floats = BINARY_##name,
#define WHOLE(name, expression)                                                                    \
    [OP_OF_##name].wholes = true, [OP_OF_##name].of_wholes = WHOLE_##name,
#define WHOLE_FORM(name, expression)
#include "backend/binary_math.def"
};

static void run_floats(const cuda_node *n, const cuda_call *c)
{
    const binary_state *s = n->state;
    launch_binary(c->stream, s->of_floats, s->types, c->out[0], c->in[0], c->in[1], &s->over);
}

static void run_wholes(const cuda_node *n, const cuda_call *c)
{
    const binary_state *s = n->state;
    launch_whole(c->stream, s->of_wholes, s->type, c->out[0], c->in[0], c->in[1], &s->over);
}

/* Pow by a number that is known; by any other without a shorter way it stays pow. */
static binary_function power_of(const graph_value *exponent)
{
    if (exponent->kind != VAL_CONST || graph_shape_elements(&exponent->shape) != 1)
        return BINARY_pow;
    float number = *(const float *)exponent->data;
#define POWER(name, known, expression)                                                             \
    if (number == (known))                                                                         \
        return BINARY_##name;
#include "backend/binary_math.def"
    return BINARY_pow;
}

binary_function cuda_binary_of(const graph *g, const graph_node *n)
{
    return n->op == OP_POW ? power_of(graph_value_at(g, n->in[1])) : functions[n->op].of_floats;
}

status cuda_plan_binary(cuda_node *n)
{
    graph_op op = n->node->op;
    dtype t = cuda_out(n, 0)->dtype;
    bool is_whole = t == DT_I64 || t == DT_I32 || t == DT_U8;
    if (!(is_whole ? functions[op].wholes : t == DT_F32 && functions[op].floats))
        return FAIL(n->err, E_UNSUPPORTED, "arithmetic in %s", dtype_name(t));
    binary_state *s = cuda_node_runs(n, is_whole ? run_wholes : run_floats, sizeof *s);
    *s = (binary_state){.over = cuda_broadcast(n),
                        .types = cuda_types(n),
                        .type = t,
                        .of_floats = cuda_binary_of(n->program->g, n->node),
                        .of_wholes = functions[op].of_wholes};
    if (op == OP_MOD && ((const mod_attr *)n->node->attr)->fmod)
        s->of_wholes = WHOLE_fmod;
    n->takes_inplace = true;
    return OK;
}
