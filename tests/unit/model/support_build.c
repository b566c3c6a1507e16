#include "unit/model/support_build.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/base/alloc.h"

#include <stdlib.h>

static status build(const char *model, model_mode mode, const data_field *fields, size_t n,
                    graph **ret, error *err)
{
    char *text =
        xasprintf("{model: %s, train_data_path: 'x', data_loader: {batch_size: 8}}", model);
    config *c = NULL;
    if (config_load(&(config_source){.text = text}, &c, err) != OK)
        fail_msg("%s", err->text);
    free(text);
    model_request r = {.model = config_section(c, "model"),
                       .fields = fields,
                       .n_fields = n,
                       .batch_size = BUILD_BATCH,
                       .mode = mode};
    status st = model_build(&r, ret, err);
    config_destroy(&c);
    return st;
}

graph *built(const char *model, model_mode mode, const data_field *fields, size_t n)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    if (build(model, mode, fields, n, &g, &err) != OK)
        fail_msg("%s: %s", model, err.text);
    return g;
}

int64_t built_trainable(const graph *g)
{
    int64_t n = 0;
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind == VAL_PARAM && value->param->kind == TENSOR_TRAINABLE)
            n += graph_shape_elements(&value->shape);
    }
    return n;
}

void refused(const char *model, const data_field *fields, size_t n, const char *text)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    assert_int_equal(build(model, MODEL_TRAIN, fields, n, &g, &err), E_CONFIG);
    assert_string_equal(err.text, text);
}
