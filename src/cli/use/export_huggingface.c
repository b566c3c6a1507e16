#include "cli/use/export_huggingface.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/weights.h"
#include "model/huggingface.h"
#include "model/lora.h"

#include <stdio.h>
#include <stdlib.h>

enum { TOKENIZER_MOST = 256 << 20 };

static status write_weights(const config *model, const weights *w, const char *path, error *err)
{
    static const st_meta meta = {"format", "pt"};
    size_t n = weights_count(w);
    arena *names = arena_create();
    st_tensor *tensors = xcalloc(n + 1, sizeof *tensors);
    st_writer *out = NULL;
    for (size_t i = 0; i < n; i++) {
        tensors[i] = *weights_at(w, i);
        tensors[i].name = huggingface_tensor(model, tensors[i].name, names);
    }
    status st = st_writer_open(path, tensors, n, &meta, 1, &out, err);
    for (size_t i = 0; i < n && st == OK; i++)
        st = st_writer_add(out, tensors[i].data, tensors[i].bytes, err);
    if (st == OK)
        st = st_writer_close(&out, NULL, NULL, err);
    else
        st_writer_abort(&out);
    free(tensors);
    arena_destroy(&names);
    return st;
}

/* What there is of a tokenizer beside the weights that the model began with. */
static status copy_tokenizer(const config *model, const char *folder, error *err)
{
    static const char *const files[] = {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                                        "vocab.txt", "vocab.json", "merges.txt", "added_tokens.json"};
    const config *pretrained = config_section(model, "pretrained");
    arena *a = arena_create();
    status st = OK;
    for (size_t i = 0; pretrained && i < COUNT_OF(files) && st == OK; i++) {
        const char *from = arena_printf(a, "%s/%s", config_str(pretrained, "path"), files[i]);
        buf text = BUF_INIT;
        if (!fs_exists(from))
            continue;
        st = fs_read(from, TOKENIZER_MOST, &text, err);
        if (st == OK)
            st = fs_write_atomic(arena_printf(a, "%s/%s", folder, files[i]), text.data, text.size, err);
        buf_fini(&text);
    }
    arena_destroy(&a);
    return st;
}

/* The words of the classes in a job's vocabulary: of records, or the tags of sentences; NULL if they are numbers. */
static const json_t *labels_of(const json_t *vocabulary)
{
    const json_t *of_records = json_object_get(json_object_get(vocabulary, "label"), "label");
    return of_records ? of_records : json_object_get(json_object_get(vocabulary, "tags"), "label");
}

static status write_folder(const trained_model *s, const weights *w, const char *folder, error *err)
{
    const config *model = config_section(s->config, "model");
    json_t *described = NULL, *vocabulary = s->vocabulary ? json_loads(s->vocabulary, 0, NULL) : NULL;
    arena *a = arena_create();
    status st = huggingface_model(model, w, labels_of(vocabulary), &described, err);
    if (st == OK)
        st = fs_mkdirs(folder, err);
    if (st == OK)
        st = write_weights(model, w, arena_printf(a, "%s/model.safetensors", folder), err);
    if (st == OK)
        st = copy_tokenizer(model, folder, err);
    if (st == OK)
        st = json_write_file(arena_printf(a, "%s/config.json", folder), described, err);
    json_decref(described);
    json_decref(vocabulary);
    arena_destroy(&a);
    return st;
}

status export_huggingface(const trained_model *s, const char *folder, error *err)
{
    weights *w = NULL;
    TRY(weights_open(s->model, &w, err));
    status st = lora_merge(config_section(s->config, "model"), &w, err);
    if (st == OK)
        st = write_folder(s, w, folder, err);
    if (st == OK)
        printf("%s: the network of '%s', %zu tensors\n", folder, s->model, weights_count(w));
    weights_close(&w);
    return st;
}
