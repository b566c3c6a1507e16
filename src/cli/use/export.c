/*
 * `tequio export`: a trained model as a file, or a folder, that other programs read.
 */
#include "cli/commands.h"
#include "cli/run/onnx_file.h"
#include "cli/use/export_huggingface.h"
#include "cli/use/trained_model.h"
#include "common/base/alloc.h"
#include "common/store/weights.h"
#include "model/lora.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t elements(const weights *w)
{
    int64_t sum = 0;
    for (size_t i = 0; i < weights_count(w); i++)
        sum += (int64_t)(weights_at(w, i)->bytes / dtype_bytes(weights_at(w, i)->dtype));
    return sum;
}

static bool has_adapters(const weights *w)
{
    bool has = false;
    for (size_t i = 0; i < weights_count(w); i++)
        has = has || lora_is_adapter(weights_at(w, i)->name);
    return has;
}

/* Only adapters need the configuration. */
static status merge(const args *a, trained_model *s, weights **w, error *err)
{
    if (!has_adapters(*w))
        return OK;
    TRY(trained_model_configure(s, args_text(a, "config"), NULL, err));
    return lora_merge(config_section(s->config, "model"), w, err);
}

static status export_safetensors(const args *a, trained_model *s, const char *path, error *err)
{
    weights *w = NULL;
    TRY(weights_open(s->model, &w, err));
    status st = merge(a, s, &w, err);
    if (st == OK)
        st = weights_write(w, path, err);
    if (st == OK)
        printf("%s: %zu tensors of '%s', %" PRId64 " numbers\n", path, weights_count(w), s->model,
               elements(w));
    weights_close(&w);
    return st;
}

static status export_onnx(const args *a, trained_model *s, const char *path, error *err)
{
    TRY(trained_model_configure(s, args_text(a, "config"), NULL, err));
    onnx_file_request request = {
        .config = s->config, .model = s->model, .data = args_text(a, "data"),
        .vocabulary = s->vocabulary, .path = path};
    TRY(onnx_file_write(&request, err));
    printf("%s: the network with the weights of '%s'\n", path, s->model);
    return OK;
}

static status export_model(const args *a, trained_model *s, error *err)
{
    const char *format = args_text(a, "format"), *path = args_text(a, "output");
    if (!format || !path)
        return FAIL(err, E_USAGE, "export: --%s is missing; usage: tequio export JOB_DIR|MODEL "
                                  "--format onnx|safetensors|huggingface -o FILE",
                    format ? "output" : "format");
    TRY(trained_model_find(a->operands[0], s, err));
    if (strcmp(format, "safetensors") == 0)
        return export_safetensors(a, s, path, err);
    if (strcmp(format, "onnx") == 0)
        return export_onnx(a, s, path, err);
    TRY(trained_model_configure(s, args_text(a, "config"), NULL, err));
    return export_huggingface(s, path, err);
}

static int run_export(const args *a, error *err)
{
    trained_model s = {.model = NULL};
    status st = export_model(a, &s, err);
    trained_model_fini(&s);
    return status_exit_code(st);
}

#define OUTPUT "What to write"
#define INPUT  "What it is made of"

static const flag export_flags[] = {
    {"format", 0, FLAG_CHOICE, "onnx|safetensors|huggingface", OUTPUT,
     "onnx: the network in evaluation mode and its weights. safetensors: the weights under the names "
     "that PyTorch gives them. huggingface: a folder with config.json and model.safetensors, which "
     "transformers loads. In all of them adapters of model.lora are in the weights that they are of.",
     0, 0},
    {"output", 'o', FLAG_PATH, "FILE", OUTPUT,
     "The file, which is there once it is whole; with huggingface the folder.", 0, 0},
    {"data", 0, FLAG_PATH, "PATH", INPUT,
     "With onnx: examples that tell the shape of the input; default: validation_data_path, or "
     "train_data_path.",
     0, 0},
    {"config", 0, FLAG_PATH, "CONFIG", INPUT,
     "With onnx and huggingface, and where there are adapters: the model's configuration; default: config.json of the "
     "job that made it.", 0, 0},
};

const command command_export = {
    .name = "export",
    .operands = "JOB_DIR|MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Write a trained model as a file or folder for other programs.",
    .about =
        "Writes a model as a file or folder that other programs read. Of a job dir the final "
        "model.safetensors is taken, or the newest checkpoint where training goes on; "
        "JOB_DIR/best, a checkpoint folder or a .safetensors file may be named as well.",
    .flags = export_flags,
    .n_flags = COUNT_OF(export_flags),
    .run = run_export,
};
