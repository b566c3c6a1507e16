#include "model/distillation.h"

#include "common/base/alloc.h"
#include "graph/inline.h"
#include "model/initial.h"
#include "model/loss/build.h"

#include <stdlib.h>
#include <string.h>

static const char prefix[] = "teacher.";

/* --- the teacher --- */

/* The elements of its parameters, in one vector. */
static status read_weights(const net *n, const distillation_teacher *t, float **ret, error *err)
{
    buf report = BUF_INIT;
    void *p = NULL;
    size_t bytes;
    if (!size_mul((size_t)t->flat->n_elements, sizeof(float), &bytes))
        return FAIL(err, E_NOMEM, "%lld elements are larger than memory", (long long)t->flat->n_elements);
    TRY(mem_alloc(bytes, "a teacher", &p, err));
    status st = model_learnt(t->model, t->flat, n->request->seed, p, &report, err);
    if (st == OK && n->request->teacher)
        buf_addf(n->request->teacher, "of=teacher %s", report.data);
    if (st == OK)
        *ret = p;
    else
        mem_free(p);
    buf_fini(&report);
    return st;
}

/* What stands for its inputs: the model's own. */
static status bind_inputs(net *n, const graph *teacher, graph_val *ret, error *err)
{
    for (graph_val v = 0; v < graph_n_values(teacher); v++) {
        const graph_value *value = graph_value_at(teacher, v);
        ret[v] = strcmp(value->name, "batch.id") == 0 ? n->batch_id : GRAPH_NONE;
        if (value->kind == VAL_INPUT && ret[v] == GRAPH_NONE)
            TRY(net_field(n, net_find(n, value->name, value->dtype), &ret[v], err));
    }
    return OK;
}

static void find_params(const distillation_teacher *t, const float *elements, const float **ret)
{
    const flat *f = t->flat;
    for (graph_val v = 0; v < graph_n_values(t->graph); v++) {
        const graph_value *value = graph_value_at(t->graph, v);
        for (int32_t k = 0; value->kind == VAL_PARAM && k < f->n_tensors; k++)
            if (strcmp(f->tensors[k].name, value->name) == 0)
                ret[v] = elements + f->offset[k];
    }
}

/* Its scores, in the model's graph. */
static status bring_teacher(net *n, const distillation_teacher *t, graph_val *ret, error *err)
{
    size_t n_values = (size_t)graph_n_values(t->graph);
    graph_val *inputs = xcalloc(n_values, sizeof *inputs), *values = xcalloc(n_values, sizeof *values);
    const float **params = xcalloc(n_values, sizeof *params);
    float *elements = NULL;
    status st;
    TRY_OUT(st, read_weights(n, t, &elements, err));
    TRY_OUT(st, bind_inputs(n, t->graph, inputs, err));
    find_params(t, elements, params);
    TRY_OUT(st, graph_inline(n->g, &(graph_inlined){t->graph, prefix, inputs, params}, values, err));
    *ret = values[graph_find(t->graph, t->output)];
out:
    mem_free(elements);
    free(inputs);
    free(values);
    free(params);
    return st;
}

/* --- the loss --- */

static status soft_log_probabilities(net *n, graph_val scores, double temperature, graph_val *ret, error *err)
{
    TRY(loss_by(n, OP_MUL, scores, 1.0 / temperature, &scores, err));
    return graph_add_1(n->g, OP_LOG_SOFTMAX, NULL, &scores, 1, &(axis_attr){.axis = 1}, ret, err);
}

/* Of each example the sum over classes of p (log p - log q), p being the teacher's. */
static status divergence(net *n, graph_val teacher, graph_val model, double temperature, graph_val *ret, error *err)
{
    graph_val p, q, apart;
    loss_terms t = {.counts = GRAPH_NONE, .labels = {1, {n->request->batch_size}},
                    .is_part = true};
    TRY(soft_log_probabilities(n, teacher, temperature, &p, err));
    TRY(soft_log_probabilities(n, model, temperature, &q, err));
    TRY(loss_two(n, OP_SUB, p, q, &apart, err));
    TRY(loss_one(n, OP_EXP, p, &p, err));
    TRY(loss_two(n, OP_MUL, p, apart, &apart, err));
    TRY(loss_sum_of_classes(n, apart, GRAPH_NONE, &t.each, err));
    return loss_mean(n, t, ret, err);
}

static status check_scores(const net *n, const config *section, graph_val teacher, graph_val model, error *err)
{
    const graph_shape *his = loss_shape_of(n, teacher), *ours = loss_shape_of(n, model);
    char his_text[SHAPE_TEXT], our_text[SHAPE_TEXT];
    if (ours->rank == 2 && graph_shape_equal(his, ours))
        return OK;
    return FAIL(err, E_CONFIG, "%s: the teacher's scores are %s, the model's %s; expected [batch, classes] of both",
                config_path(section), graph_shape_text(his, his_text, sizeof his_text),
                graph_shape_text(ours, our_text, sizeof our_text));
}

status distillation_add(net *n, const config *section, const distillation_teacher *teacher, const net_outputs *outputs,
                        graph_val *loss, error *err)
{
    double temperature = config_f64(section, "temperature"), alpha = config_f64(section, "alpha");
    graph_val scores = GRAPH_NONE, apart, rest, sum;
    TRY(bring_teacher(n, teacher, &scores, err));
    TRY(check_scores(n, section, scores, outputs->at[0], err));
    TRY(graph_rename(n->g, *loss, "loss.labels", err));
    TRY(divergence(n, scores, outputs->at[0], temperature, &apart, err));
    TRY(loss_by(n, OP_MUL, apart, alpha * temperature * temperature, &apart, err));
    TRY(loss_by(n, OP_MUL, *loss, 1.0 - alpha, &rest, err));
    TRY(loss_two(n, OP_ADD, rest, apart, &sum, err));
    TRY(graph_rename(n->g, sum, "loss", err));
    graph_keep(n->g, sum);
    *loss = sum;
    return OK;
}
