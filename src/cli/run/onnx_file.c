#include "cli/run/onnx_file.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/weights.h"
#include "data/data.h"
#include "model/lora.h"
#include "model/model.h"
#include "onnx/export.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUTS = 16, METAS = 4, META_TEXT = 64 };

/* --- the network, at two sizes of the batch: what differs follows the batch --- */

static const int64_t batch_sizes[2] = {5, 7};

/* For their shapes; labels say nothing that the weights do not. */
static status open_data(const onnx_file_request *r, dataset **ret, error *err)
{
    const char *path = r->data ? r->data : config_str(r->config, "validation_data_path");
    if (!path)
        path = config_str(r->config, "train_data_path");
    const dataset_part whole = {.to = 1.0};
    dataset_options how = {.vocabulary = r->vocabulary,
                           .part = r->data ? &whole : NULL,
                           .without_labels = true};
    return dataset_open_as(config_section(r->config, "validation_dataset_reader"), path, &how, ret,
                           err);
}

static status build_both(const onnx_file_request *r, const weights *w, graph *ret[2], error *err)
{
    dataset *data = NULL;
    TRY(open_data(r, &data, err));
    model_request request = {
        .model = config_section(r->config, "model"),
        .seed = (uint64_t)config_int(r->config, "random_seed"),
        .mode = MODEL_PREDICT,
        .merged = true,
        .train = config_json(r->config, "trainer.train"),
    };
    request.fields = dataset_fields(data, &request.n_fields);
    request.batch_size = batch_sizes[0];
    status st = model_scores(&request, w, &request.scores, err);
    for (int i = 0; i < 2 && st == OK; i++) {
        request.batch_size = batch_sizes[i];
        st = model_build(&request, &ret[i], err);
    }
    dataset_close(&data);
    return st;
}

/* --- metadata --- */

typedef struct metadata {
    onnx_meta at[METAS];
    char text[METAS][META_TEXT];
    size_t n;
} metadata;

static void add_number(metadata *m, const char *key, const json_t *value)
{
    if (!json_is_number(value))
        return;
    if (json_is_integer(value))
        snprintf(m->text[m->n], META_TEXT, "%lld", (long long)json_integer_value(value));
    else
        snprintf(m->text[m->n], META_TEXT, "%.9g", json_real_value(value));
    m->at[m->n] = (onnx_meta){key, m->text[m->n]};
    m->n++;
}

static json_t *read_beside(const char *path, const char *name)
{
    char *copy = xstrdup(path), *file = xasprintf("%s/%s", dirname(copy), name);
    json_t *value = NULL;
    if (fs_exists(file) && json_read_file(file, &value, NULL) != OK)
        value = NULL;
    free(file);
    free(copy);
    return value;
}

/* What a job says of the weights: summary.json beside them, metrics.json of the best ones, the
 * evaluation of a checkpoint. A file that is not there says nothing. */
static void gather_metadata(const char *model, const weights *w, metadata *m)
{
    char evaluation[64];
    snprintf(evaluation, sizeof evaluation, "../eval/step-%09lld.json", (long long)weights_step(w));
    json_t *step = json_integer(weights_step(w)), *said;
    if (weights_step(w) >= 0) {
        said = read_beside(model, evaluation);
        add_number(m, "step", step);
        add_number(m, "validation_loss", json_object_get(said, "loss"));
    } else if ((said = read_beside(model, "summary.json"))) {
        add_number(m, "step", json_object_get(said, "steps"));
        add_number(m, "training_loss", json_object_get(said, "training_loss"));
        add_number(m, "validation_loss", json_object_get(json_object_get(said, "validation"), "loss"));
    } else if ((said = read_beside(model, "metrics.json"))) {
        add_number(m, "step", json_object_get(said, "step"));
        add_number(m, "training_loss", json_object_get(said, "training_loss"));
        add_number(m, "validation_loss", json_object_get(said, "validation_loss"));
    }
    m->at[m->n++] = (onnx_meta){"tequio_version", TEQUIO_VERSION};
    json_decref(step);
    json_decref(said);
}

/* --- the file --- */

/* A network that came as a file goes back into that file. */
static status write_original(const onnx_file_request *r, const weights *w, const metadata *meta,
                             error *err)
{
    onnx_model *m = NULL;
    TRY(onnx_open(config_str(r->config, "model.path"), &m, err));
    status st = onnx_export_model(m, w, meta->at, meta->n, r->path, err);
    onnx_close(&m);
    return st;
}

static status write_graphs(const onnx_file_request *r, const weights *w, const metadata *meta,
                           graph *const both[2], error *err)
{
    const char *outputs[OUTPUTS];
    onnx_export request = {
        .g = both[0],
        .twin = both[1],
        .batch = batch_sizes[0],
        .twin_batch = batch_sizes[1],
        .outputs = outputs,
        .n_outputs = model_outputs(both[0], batch_sizes[0], outputs, OUTPUTS),
        .weights = w,
        .meta = meta->at,
        .n_meta = meta->n,
    };
    return onnx_export_graph(&request, r->path, err);
}

static status write_built(const onnx_file_request *r, const weights *w, const metadata *meta,
                          error *err)
{
    graph *both[2] = {NULL, NULL};
    status st = build_both(r, w, both, err);
    if (st == OK && r->built)
        r->built(r->user, (const graph *const *)both);
    if (st == OK)
        st = write_graphs(r, w, meta, both, err);
    for (int i = 0; i < 2; i++)
        if (both[i])
            graph_destroy(&both[i]);
    return st;
}

status onnx_file_write(const onnx_file_request *request, error *err)
{
    weights *w = NULL;
    metadata meta = {.n = 0};
    TRY(weights_open(request->model, &w, err));
    gather_metadata(request->model, w, &meta);
    bool is_file = strcmp(config_str(request->config, "model.type"), "onnx") == 0;
    status st = lora_merge(config_section(request->config, "model"), &w, err);
    if (st == OK)
        st = is_file ? write_original(request, w, &meta, err) : write_built(request, w, &meta, err);
    weights_close(&w);
    return st;
}
