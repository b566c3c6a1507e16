/*
 * The CUDA backend, over the emulation or on a GPU (tests/gpu), for the tests of tests/numeric. Its
 * gradients are held against the CPU's, which central differences vouch for: bit for bit where they
 * must be, else 5e-5 of the element and of its tensor's root mean square, twice what the CPU's may
 * be off.
 */
#include "numeric/support_tested.h"

#include "backend/cuda/cuda.h"
#include "cuda_emu/numeric/support_exact.h"
#include "numeric/support_compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const backend_ops *const tested_backend = &backend_cuda;
const int tested_frames = FRAME_CONV; /* all but that: no layout is chosen by what stands beside */

static const double TOLERANCE = 5e-5;

/* Bfloat16 from sm_80 on; below it only sm_75 is taken. */
bool tested_multiplies(graph_precision p)
{
    error err = ERROR_INIT;
    backend_device device;
    must(backend_cuda.describe(0, &device, &err), &err);
    return p != PRECISION_BF16 || strcmp(device.arch, "sm_75") != 0;
}

bool tested_rounds_weight_gradients(void)
{
    cuda_library found[CUDA_LIBRARIES_MAX];
    for (size_t i = cuda_libraries(found); i-- > 0;)
        if (strcmp(found[i].name, "cuDNN") == 0)
            return found[i].path;
    return false;
}

/* --- what it takes --- */

static const bool missing[OP_COUNT] = {
#define MISSING(ID) [OP_##ID] = true,
#include "cuda_emu/numeric/missing.def"
#undef MISSING
};
static int n_met[OP_COUNT], n_refused[OP_COUNT]; /* nodes that make elements */
static int n_taken, n_left_out;                  /* graphs */

/* OK or E_UNSUPPORTED with the nodes it refuses. */
static status try_load(const graph *g, error *err)
{
    backend *b = NULL;
    backend_program *p = NULL;
    must(backend_cuda.open(&(backend_options){.threads = 1}, &b, err), err);
    status st = backend_cuda.load(b, g, &p, err);
    if (st == OK)
        backend_cuda.unload(&p);
    backend_cuda.close(&b);
    return st;
}

static bool makes_elements(const graph *g, const graph_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] != GRAPH_NONE && graph_shape_elements(&graph_value_at(g, n->out[i])->shape))
            return true;
    return false;
}

static bool is_named(const graph_node *n, const error *err)
{
    char what[96];
    snprintf(what, sizeof what, "%s (%s): ", n->name, graph_op_of(n->op)->name);
    return strstr(err->text, what) != NULL;
}

bool tested_takes(const graph *g)
{
    error err = ERROR_INIT;
    status st = try_load(g, &err);
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        const graph_node *n = graph_node_at(g, i);
        if (!makes_elements(g, n))
            continue;
        bool refused = st != OK && is_named(n, &err);
        n_met[n->op]++;
        n_refused[n->op] += refused;
        if (refused && !missing[n->op])
            fail_msg("%s", err.text);
    }
    assert_true(st == OK || st == E_UNSUPPORTED);
    *(st == OK ? &n_taken : &n_left_out) += 1;
    return st == OK;
}

void tested_lacks_no_more(bool backward)
{
    int wrong = 0;
    print_message("%d graphs computed, %d left out for want of:", n_taken, n_left_out);
    for (graph_op op = 0; op < OP_COUNT; op++) {
        bool is_whole = n_met[op] && !n_refused[op];
        if (missing[op] && !is_whole)
            print_message(" %s", graph_op_of(op)->name);
    }
    print_message("\n");
    for (graph_op op = 0; op < OP_COUNT; op++) {
        bool is_whole = n_met[op] && !n_refused[op];
        bool is_ours = backward == !!(graph_op_of(op)->traits & OP_BACKWARD);
        if (missing[op] && is_whole && is_ours) {
            print_error("all cases of %s are computed: delete its row of missing.def\n",
                        graph_op_of(op)->name);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* --- gradients --- */

static double *doubles(const float *x, int64_t n)
{
    double *d = xcalloc((size_t)n + 1, sizeof *d);
    for (int64_t i = 0; i < n; i++)
        d[i] = (double)x[i];
    return d;
}

static bool check_operand(const gradient *s, const lane *cpu, const graph_value *param)
{
    char what[160];
    int64_t n = graph_shape_elements(&param->shape);
    const float *got = lane_grad(&s->lane, param->name), *want = lane_grad(cpu, param->name);
    snprintf(what, sizeof what, "%s, %s: the gradient of '%s'", s->name, s->frame, param->name);
    if (gradients_are_exact(s->backward))
        return is_same(what, DT_F32, got, want, n);
    double *x = doubles(got, n), *y = doubles(want, n);
    bool close = is_close(what, x, y, n, TOLERANCE);
    free(x);
    free(y);
    return close;
}

bool tested_gradients(const gradient *s)
{
    lane cpu;
    bool close = true;
    lane_init_on(&cpu, &backend_cpu, (const graph *const *)&s->backward, 1, 1);
    gradient_fill(s, &cpu);
    lane_run(&cpu, 0, NULL);
    for (graph_val v = 0; v < graph_n_values(s->forward); v++)
        if (graph_value_at(s->forward, v)->kind == VAL_PARAM)
            close = check_operand(s, &cpu, graph_value_at(s->forward, v)) && close;
    lane_fini(&cpu);
    return close;
}
