/* From a configuration to a graph (model.h): the architecture's layers, the loss, its gradient. */
#include "model/model.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "model/builders.h"
#include "model/depth.h"
#include "model/distillation.h"
#include "model/groups.h"
#include "model/lora.h"
#include "model/name_globs.h"
#include "model/prediction.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *type;
    model_build_fn *build;
} architectures[] = {
    {"mlp", build_mlp},
    {"cnn", build_cnn},
    {"sequential", build_sequential},
    {"resnet18", build_resnet},
    {"resnet34", build_resnet},
    {"resnet50", build_resnet},
    {"r2plus1d_18", build_r2plus1d},
    {"frame_cnn", build_frame_cnn},
    {"transformer_lm", build_transformer_lm},
    {"bert", build_encoder},
    {"roberta", build_encoder},
    {"distilbert", build_encoder},
    {"electra", build_encoder},
    {"albert", build_encoder},
    {"vit", build_vit},
    {"mobilenet_v3_small", build_mobilenet},
    {"mobilenet_v3_large", build_mobilenet},
    {"efficientnet_b0", build_efficientnet},
    {"efficientnet_b1", build_efficientnet},
    {"efficientnet_b2", build_efficientnet},
    {"efficientnet_b3", build_efficientnet},
    {"regnet_x_400mf", build_regnet},
    {"regnet_x_800mf", build_regnet},
    {"regnet_x_1_6gf", build_regnet},
    {"regnet_x_3_2gf", build_regnet},
    {"regnet_y_400mf", build_regnet},
    {"regnet_y_800mf", build_regnet},
    {"regnet_y_1_6gf", build_regnet},
    {"regnet_y_3_2gf", build_regnet},
    {"densenet121", build_densenet},
    {"convnext_tiny", build_convnext},
    {"convnext_small", build_convnext},
    {"swin_t", build_swin},
    {"unet", build_unet},
    {"lraspp_mobilenet_v3_large", build_lraspp},
    {"wide_deep", build_wide_deep},
    {"dlrm", build_dlrm},
    {"onnx", build_onnx},
    {"transformer_qa", build_encoder},
    {"basic_classifier", build_basic_classifier},
    {"simple_tagger", build_simple_tagger},
    {"biaffine_parser", build_biaffine_parser},
};

static status find_architecture(const config *model, model_build_fn **ret, error *err)
{
    const char *type = config_str(model, "type"), *names[COUNT_OF(architectures)];
    for (size_t i = 0; i < COUNT_OF(architectures); i++) {
        names[i] = architectures[i].type;
        if (type && strcmp(type, names[i]) == 0) {
            *ret = architectures[i].build;
            return OK;
        }
    }
    const char *near = type ? config_did_you_mean(type, names, COUNT_OF(names)) : NULL;
    return FAIL(err, E_CONFIG, "%s.type: no model '%s'%s%s%s", config_path(model),
                type ? type : "null", near ? "; did you mean '" : "", near ? near : "",
                near ? "'?" : "");
}

static status add_outputs(net *n, net_outputs *ret, error *err)
{
    const config *model = n->request->model;
    model_build_fn *build = NULL;
    *ret = (net_outputs){.loss = GRAPH_NONE};
    TRY(find_architecture(model, &build, err));
    TRY(build(n, model, ret, err));
    TRY(lora_add(n, ret, err));
    if (ret->n == 0 && ret->loss != GRAPH_NONE)
        return OK;
    if (ret->n < 1 || graph_value_at(n->g, ret->at[0])->kind != VAL_TEMP)
        return FAIL(err, E_CONFIG, "%s: has no layers", config_path(model));
    for (size_t i = 0; i < ret->n; i++) {
        const graph_value *v = graph_value_at(n->g, ret->at[i]);
        if (graph_shape_elements(&v->shape) == 0)
            return FAIL(err, E_CONFIG, "%s: the output '%s' %s has no elements", config_path(model),
                        v->name, graph_shape_text(&v->shape, (char[SHAPE_TEXT]){0}, SHAPE_TEXT));
    }
    /* In training nobody reads them but the loss, whose gradient takes their place. */
    for (size_t i = 0; i < ret->n && n->request->mode != MODEL_TRAIN; i++)
        graph_keep(n->g, ret->at[i]);
    return OK;
}

static status add_layers(net *n, net_outputs *ret, error *err)
{
    initializers *first;
    TRY(initializers_create(n->request->model, &first, err));
    n->first = first;
    status st = add_outputs(n, ret, err);
    n->first = NULL;
    initializers_destroy(&first);
    return st;
}

/* The next parameter from `v` on that the pattern matches, GRAPH_NONE if there is none. */
static graph_val next_match(const graph *g, const char *pattern, graph_val v)
{
    for (; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind == VAL_PARAM && fnmatch(pattern, value->name, 0) == 0)
            return v;
    }
    return GRAPH_NONE;
}

static status no_match(const graph *g, const char *option, const char *pattern, error *err)
{
    graph_val some = next_match(g, "*", 0);
    return FAIL(err, E_CONFIG, "%s: no parameter matches '%s'; one is '%s'", option, pattern,
                some == GRAPH_NONE ? "none" : graph_value_at(g, some)->name);
}

/* Initializers of a file that these name are parameters by now. */
static status check_trained(const graph *g, const char *pattern, error *err)
{
    graph_val v = next_match(g, pattern, 0), state = v;
    if (v == GRAPH_NONE)
        return no_match(g, "trainer.train", pattern, err);
    for (; v != GRAPH_NONE; v = next_match(g, pattern, v + 1))
        if (graph_value_at(g, v)->param->kind != TENSOR_STATE)
            return OK;
    return FAIL(err, E_CONFIG,
                "trainer.train: '%s' is a running statistic, which every batch moves by itself",
                graph_value_at(g, state)->name);
}

static status freeze_matches(graph *g, const char *pattern, const json_t *trained, error *err)
{
    graph_val v = next_match(g, pattern, 0);
    if (v == GRAPH_NONE)
        return no_match(g, "trainer.freeze", pattern, err);
    for (; v != GRAPH_NONE; v = next_match(g, pattern, v + 1)) {
        const char *name = graph_value_at(g, v)->name;
        if (name_globs_any(trained, name))
            return FAIL(err, E_CONFIG, "trainer.freeze and trainer.train both name '%s'; take it out of one", name);
        graph_freeze(g, v);
    }
    return OK;
}

static status choose_moving(graph *g, const json_t *train, const json_t *freeze, error *err)
{
    for (size_t i = 0; i < json_array_size(train); i++)
        TRY(check_trained(g, json_string_value(json_array_get(train, i)), err));
    for (size_t i = 0; i < json_array_size(freeze); i++)
        TRY(freeze_matches(g, json_string_value(json_array_get(freeze, i)), train, err));
    return OK;
}

static status take_lessons(net *n, const config *section, const graph *teacher, const net_outputs *outputs,
                           graph_val *loss, error *err)
{
    distillation_teacher t = {.model = config_section(section, "teacher"), .graph = teacher};
    flat *f = NULL;
    if (model_outputs(teacher, n->request->batch_size, &t.output, 1) != 1)
        return FAIL(err, E_CONFIG, "%s: says nothing to each example of a batch", config_path(t.model));
    TRY(model_flat(teacher, &f, err));
    t.flat = f;
    status st = distillation_add(n, section, &t, outputs, loss, err);
    flat_destroy(&f);
    return st;
}

/* Where there is a teacher, the loss is of its answers too. */
static status distil(net *n, const net_outputs *outputs, graph_val *loss, error *err)
{
    const config *section = config_section(n->request->model, "distillation");
    graph *teacher = NULL;
    if (!section)
        return OK;
    model_request r = {.model = config_section(section, "teacher"),
                       .fields = n->request->fields,
                       .n_fields = n->request->n_fields,
                       .batch_size = n->request->batch_size,
                       .seed = n->request->seed,
                       .mode = MODEL_PREDICT,
                       .precision = n->request->precision};
    status st = model_build(&r, &teacher, err);
    if (st == OK)
        st = take_lessons(n, section, teacher, outputs, loss, err);
    if (st != OK)
        error_prepend(err, "%s", config_path(section));
    graph_destroy(&teacher);
    return st;
}

/* In front of backward, which takes the place of the outputs themselves. */
static status copy_scores(graph *g, const net_outputs *outputs, bool has_tags, error *err)
{
    static const char *const names[] = {PREDICTION_COPY, PREDICTION_TAGS_COPY};
    for (size_t i = 0; i < (has_tags ? 2 : 1) && i < outputs->n; i++) {
        graph_val copy;
        TRY(graph_add_1(g, OP_IDENTITY, names[i], &outputs->at[i], 1, NULL, &copy, err));
        graph_keep(g, copy);
    }
    return OK;
}

static status add_gradients(graph *g, const config *sam, graph_val loss, graph_val weight, error *err)
{
    if (!sam)
        return graph_backward(g, loss, weight, err);
    const graph_sam s = {(float)config_f64(sam, "rho"), config_bool(sam, "adaptive")};
    return graph_backward_sam(g, loss, weight, &s, err);
}

static status fill_graph(graph *g, const model_request *r, error *err)
{
    const graph_shape one = {.rank = 1, .dim = {1}};
    model_loss choice;
    net_outputs outputs;
    graph_val loss, weight;
    TRY(loss_choose(r, graph_arena(g), &choice, err));
    net n = {.g = g, .request = r, .loss = &choice, .end = GRAPH_NONE};
    TRY(graph_input(g, "batch.id", DT_I64, one, &n.batch_id, err));
    TRY(add_layers(&n, &outputs, err));
    if (r->mode != MODEL_PREDICT)
        TRY(loss_add(&n, &outputs, &loss, err));
    if (r->mode == MODEL_TRAIN)
        TRY(distil(&n, &outputs, &loss, err));
    if (outputs.n)
        TRY(graph_rename(g, outputs.at[0], prediction_name(g, outputs.at[0], choice.kind), err));
    if (outputs.n > 1 && prediction_second_name(choice.kind))
        TRY(graph_rename(g, outputs.at[1], prediction_second_name(choice.kind), err));
    if (r->mode == MODEL_TRAIN && r->keep_scores)
        TRY(copy_scores(g, &outputs, prediction_second_name(choice.kind) != NULL, err));
    TRY(graph_set_precision(g, r->precision, err));
    if (r->half_weight_gradients)
        graph_allow_half_weight_gradients(g);
    if (r->library_dropout)
        graph_allow_library_dropout(g);
    if (r->mode != MODEL_TRAIN)
        return OK;
    TRY(choose_moving(g, r->train, r->freeze, err));
    TRY(lora_freeze(g, r->model, r->train, err));
    TRY(groups_assign(g, r->model, r->no_grad, r->optimizer, err));
    TRY(depth_assign(g, r->optimizer, err));
    TRY(graph_input(g, "slot.weight", DT_F32, one, &weight, err));
    return add_gradients(g, r->sam, loss, weight, err);
}

graph_precision model_precision(const config *job)
{
    static const char *const names[] = {
        [PRECISION_F32] = "f32",
        [PRECISION_TF32] = "tf32",
        [PRECISION_BF16] = "bf16",
        [PRECISION_F16] = "f16",
    };
    const char *name = config_str(job, "trainer.precision");
    graph_precision p = PRECISION_F32;
    while (strcmp(names[p], name) != 0)
        p++;
    return p;
}

status model_build(const model_request *request, graph **ret, error *err)
{
    graph *g = NULL;
    TRY(graph_create(&g, err));
    status st = fill_graph(g, request, err);
    if (st != OK) {
        graph_destroy(&g);
        return st;
    }
    *ret = g;
    return OK;
}

size_t model_outputs(const graph *g, int64_t batch_size, const char **ret, size_t most)
{
    size_t n = 0;
    for (graph_val v = 0; v < graph_n_values(g) && n < most; v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->keep && value->shape.rank > 0 && value->shape.dim[0] == batch_size)
            ret[n++] = value->name;
    }
    return n;
}

bool model_gives(const graph *g, const data_field *fields, size_t n_fields, const char *metric)
{
    bool has_rows = false, has_classes = graph_find(g, "accuracy.right") != GRAPH_NONE;
    for (size_t i = 0; i < n_fields; i++)
        has_rows = has_rows || (fields[i].classes > 0 && fields[i].rank == 1);
    if (strcmp(metric, "accuracy") == 0)
        return has_classes;
    if (strcmp(metric, "perplexity") == 0)
        return has_classes && has_rows && graph_find(g, "loss.of_tags") == GRAPH_NONE;
    return strcmp(metric, "loss") == 0;
}

status model_flat(const graph *g, flat **ret, error *err)
{
    size_t n = (size_t)graph_n_params(g);
    graph_val *order = xcalloc(n + 1, sizeof *order);
    tensor_decl *decls = xcalloc(n + 1, sizeof *decls);
    graph_param_order(g, order);
    for (size_t i = 0; i < n; i++)
        decls[i] = *graph_value_at(g, order[i])->param;
    status st = flat_create(decls, n, ret, err);
    free(decls);
    free(order);
    return st;
}

status model_check_length(const flat *f, int64_t length, const graph *g, int64_t other, error *err)
{
    char first[SHA256_HEX], second[SHA256_HEX];
    flat *its = NULL;
    TRY(model_flat(g, &its, err));
    flat_digest(f, first);
    flat_digest(its, second);
    flat_destroy(&its);
    if (strcmp(first, second) == 0)
        return OK;
    return FAIL(err, E_CONFIG,
                "data_loader.batch_sampler: examples %lld long and %lld long take other parameters of this model; "
                "it wants a model whose parameters are those of any length, as bert",
                (long long)length, (long long)other);
}
