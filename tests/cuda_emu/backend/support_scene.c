#include "cuda_emu/backend/support_scene.h"

#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/rng.h"
#include "cuda_emu/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- graphs --- */

static graph_val value_of(const graph_val *in, graph_val out[SCENE_NODES][SCENE_OPERANDS],
                          int number)
{
    return number < SCENE_INPUTS ? in[number]
                                 : out[(number - SCENE_INPUTS) / 4][(number - SCENE_INPUTS) % 4];
}

static bool is_read(const graph *g, graph_val v)
{
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        for (int32_t k = 0; k < graph_node_at(g, i)->n_in; k++)
            if (graph_node_at(g, i)->in[k] == v)
                return true;
    return false;
}

static graph *graph_of(const scene *s)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val in[SCENE_INPUTS], out[SCENE_NODES][SCENE_OPERANDS];
    must(graph_create(&g, &err), &err);
    for (int i = 0; i < SCENE_INPUTS && s->in[i].shape.rank > 0; i++) {
        char name[] = {(char)('0' + i), '\0'};
        must(graph_input(g, name, s->in[i].type, s->in[i].shape, &in[i], &err), &err);
    }
    for (int k = 0; k < s->n_nodes; k++) {
        graph_val operand[SCENE_OPERANDS];
        for (int i = 0; i < s->node[k].n_in; i++)
            operand[i] = value_of(in, out, s->node[k].in[i]);
        must(graph_add(g, s->node[k].op, NULL, operand, s->node[k].n_in, s->node[k].attr, out[k],
                       &err),
             &err);
        if (s->node[k].is_kept)
            graph_keep(g, out[k][0]);
    }
    for (graph_val v = 0; v < graph_n_values(g); v++)
        if (graph_value_at(g, v)->kind == VAL_TEMP && !is_read(g, v))
            graph_keep(g, v);
    return g;
}

/* --- runs --- */

static void feed(const scene *s, exec *e)
{
    for (int i = 0; i < SCENE_INPUTS && s->in[i].shape.rank > 0; i++) {
        char name[] = {(char)('0' + i), '\0'};
        void *to = exec_input(e, 0, name, NULL);
        rng r = rng_make(7, RNG_TEST, (uint64_t)i);
        for (int64_t k = 0; k < graph_shape_elements(&s->in[i].shape); k++)
            if (s->in[i].type == DT_F32)
                ((float *)to)[k] = rng_normal(&r, (uint64_t)k);
            else if (s->in[i].type == DT_I64)
                ((int64_t *)to)[k] = 5;
            else
                ((uint8_t *)to)[k] = (uint8_t)(k % 3 == 1);
    }
}

static exec *engine(const graph *g, bool fuses)
{
    setenv("TEQUIO_CUDA_FUSION", fuses ? "1" : "0", 1);
    exec *e = both_engine(&backend_cuda, g, NULL);
    unsetenv("TEQUIO_CUDA_FUSION");
    return e;
}

static unsigned kernels_of_a_run(const scene *s, exec *e)
{
    error err = ERROR_INIT;
    uint64_t before = emu_kernels_run();
    feed(s, e);
    must(exec_run(e, 0, NULL, &err), &err);
    return (unsigned)(emu_kernels_run() - before);
}

static void expect_close(const scene *s, const char *name, const float *got, const float *want,
                         size_t n, double tolerance)
{
    double square = 0;
    for (size_t i = 0; i < n; i++)
        square += (double)want[i] * (double)want[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <=
              tolerance * (fabs((double)want[i]) + sqrt(square))))
            fail_msg("%s: '%s' [%d] is %g, and %g alone", s->name, name, (int)i, (double)got[i],
                     (double)want[i]);
}

static void expect_same(const scene *s, const graph *g, exec *fused, exec *alone, double tolerance)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (!value->keep)
            continue;
        const void *got = exec_value(fused, 0, value->name, NULL);
        const void *want = exec_value(alone, 0, value->name, NULL);
        size_t n = (size_t)graph_shape_elements(&value->shape);
        if (value->dtype == DT_F32 && tolerance > 0.0)
            expect_close(s, value->name, got, want, n, tolerance);
        else if (memcmp(got, want, n * dtype_bytes(value->dtype)) != 0)
            fail_msg("%s: '%s' is not what the nodes make alone", s->name, value->name);
    }
}

void scene_check(const scene *s, double tolerance)
{
    graph *g = graph_of(s);
    exec *fused = engine(g, true), *alone = engine(g, false);
    for (int turn = 0; turn < 2; turn++) {
        unsigned few = kernels_of_a_run(s, fused), all = kernels_of_a_run(s, alone);
        if (few + s->saved != all)
            fail_msg("%s: %u kernels instead of %u, %u less are expected", s->name, few, all,
                     s->saved);
        expect_same(s, g, fused, alone, tolerance);
    }
    exec_destroy(&fused);
    exec_destroy(&alone);
    graph_destroy(&g);
}

void scene_expect_fused_away(const scene *s, graph_op op)
{
    error err = ERROR_INIT;
    graph *g = graph_of(s);
    backend *b = NULL;
    backend_program *p = NULL;
    must(backend_cuda.open(&(backend_options){0}, &b, &err), &err);
    must(backend_cuda.load(b, g, &p, &err), &err);
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        if (graph_node_at(g, i)->op == op)
            assert_int_equal(backend_cuda.value_bytes(p, graph_node_at(g, i)->out[0]), 0);
    backend_cuda.unload(&p);
    backend_cuda.close(&b);
    graph_destroy(&g);
}
