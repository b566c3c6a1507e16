#include "cli/use/trained_model.h"

#include "cli/run/config_notes.h"
#include "cli/run/devices.h"
#include "cli/run/model_archive.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/config/resolved.h"
#include "common/store/checkpoint.h"
#include "data/allennlp_vocabulary.h"
#include "model/allennlp_names.h"
#include "model/allennlp_weights.h"

#include <libgen.h>
#include <stdlib.h>

/* folder/name if that exists, else NULL */
static char *existing(const char *folder, const char *name)
{
    char *path = xasprintf("%s/%s", folder, name);
    if (fs_exists(path))
        return path;
    free(path);
    return NULL;
}

/* The config.json of the job a file belongs to: beside it (model.safetensors), or one or two floors
 * up (best/, checkpoints/step-N/). NULL if there is none. */
static char *config_above(const char *path)
{
    char *copy = xstrdup(path), *folder = copy, *found = NULL;
    for (int up = 0; up < 3 && !found; up++) {
        folder = dirname(folder);
        found = existing(folder, "config.json");
    }
    free(copy);
    return found;
}

/* Of a job that goes on, again perhaps, the newest checkpoint tells more than the weights it ended
 * with before. A folder without job.json is what somebody took out of one. */
static status find_weights(const char *job_dir, char **ret, error *err)
{
    jobdir *dir = NULL;
    int64_t *list = NULL;
    size_t n = 0;
    bool done = false;
    char *final = existing(job_dir, "model.safetensors");
    status st = jobdir_open(job_dir, &dir, err);
    if (st == OK)
        st = jobdir_is_done(dir, &done, err);
    if (st == OK && !(final && (done || !jobdir_job_id(dir))))
        st = checkpoint_list(dir, &list, &n, err);
    if (st == OK && !final && !n)
        st =
            FAIL(err, E_DATA, "'%s' holds neither model.safetensors nor a checkpoint yet", job_dir);
    if (st == OK)
        *ret = n ? checkpoint_path(dir, list[n - 1]) : xstrdup(final);
    free(list);
    free(final);
    jobdir_close(&dir);
    return st;
}

/* The weights of a folder that AllenNLP wrote, or its archive; NULL: it is none. */
static char *allennlp_weights(const char *folder)
{
    static const char *const names[] = {"weights.th", "best.th"};
    char *ours = existing(folder, "model.safetensors"), *theirs = NULL;
    for (size_t i = 0; i < COUNT_OF(names) && !ours && !theirs; i++)
        theirs = existing(folder, names[i]);
    free(ours);
    return theirs;
}

/* What AllenNLP wrote becomes a .safetensors file among temporary ones. */
static status convert_weights(trained_model *s, error *err)
{
    if (!s->unpacked)
        TRY(fs_make_temporary("model", &s->unpacked, err));
    char *ours = xasprintf("%s/converted.safetensors", s->unpacked);
    status st = allennlp_weights_convert(s->model, config_section(s->config, "model"), ours, err);
    free(st == OK ? s->model : ours);
    if (st == OK)
        s->model = ours;
    return st;
}

status trained_model_find(const char *path, trained_model *s, error *err)
{
    if (!fs_exists(path))
        return FAIL(err, E_DATA,
                    "'%s' does not exist; give a job dir, an archive, a checkpoint or a .safetensors file",
                    path);
    if (model_archive_is(path)) {
        TRY(model_archive_unpack(path, &s->unpacked, err));
        path = s->unpacked;
    }
    s->config_path = existing(path, "config.json");
    s->model = s->config_path ? allennlp_weights(path) : NULL;
    if (s->model)
        return OK;
    if (s->config_path)
        return find_weights(path, &s->model, err);
    s->model = existing(path, "model.safetensors");
    if (!s->model)
        s->model = xstrdup(path);
    s->config_path = config_above(s->model);
    return OK;
}

/* Of a folder that AllenNLP wrote, if its reader learned words or classes. */
static status read_allennlp_vocabulary(trained_model *s, const char *folder, error *err)
{
    char *words = existing(folder, "vocabulary");
    buf text = BUF_INIT;
    status st = words && allennlp_vocabulary_has_classes(words) ? allennlp_vocabulary_read(words, &text, err) : OK;
    if (st == OK && text.data)
        s->vocabulary = buf_detach(&text);
    buf_fini(&text);
    free(words);
    return st;
}

static status read_vocabulary(trained_model *s, error *err)
{
    char *path = xstrdup(s->config_path);
    const char *folder = dirname(path);
    jobdir *d = NULL;
    status st = jobdir_open(folder, &d, err);
    if (st == OK)
        st = jobdir_read_vocabulary(d, &s->vocabulary, err);
    if (st == OK && !s->vocabulary)
        st = read_allennlp_vocabulary(s, folder, err);
    jobdir_close(&d);
    free(path);
    return st;
}

status trained_model_configure(trained_model *s, const char *given, const char *overrides, error *err)
{
    if (!given && !s->config_path)
        return FAIL(err, E_USAGE, "no config.json beside '%s': give --config", s->model);
    config_source source = {.path = given ? given : s->config_path,
                            .overrides = overrides,
                            .read_archive = model_archive_config};
    TRY(config_load(&source, &s->config, err));
    config_notes_log(s->config);
    if (allennlp_is_file(s->model))
        TRY(convert_weights(s, err));
    return s->config_path ? read_vocabulary(s, err) : OK;
}

status trained_model_take(trained_model *s, const args *a, error *err)
{
    const char *weights = args_text(a, "weights-file");
    config_notes_package(args_text(a, "include-package"));
    TRY(trained_model_find(a->operands[0], s, err));
    if (weights && !fs_exists(weights))
        return FAIL(err, E_DATA, "--weights-file '%s' does not exist", weights);
    if (weights) {
        free(s->model);
        s->model = xstrdup(weights);
    }
    return trained_model_configure(s, args_text(a, "config"), args_text(a, "overrides"), err);
}

status trained_model_read_as_training(trained_model *s, error *err)
{
    config *other = NULL;
    json_t *tree = json_deep_copy(config_json(s->config, ""));
    json_object_set_new(tree, "validation_dataset_reader", json_null());
    char *text = json_dumps(tree, JSON_REAL_PRECISION(17));
    status st = config_load_resolved(text, &other, err);
    free(text);
    json_decref(tree);
    TRY(st);
    config_destroy(&s->config);
    s->config = other;
    return OK;
}

status trained_model_data(const args *a, const char **ret, error *err)
{
    const char *named = args_text(a, "data"), *operand = a->n_operands > 1 ? a->operands[1] : NULL;
    if (named && operand)
        return FAIL(err, E_USAGE, "%s: '%s' and --data '%s' both name the examples: give one of them",
                    a->command->name, operand, named);
    *ret = named ? named : operand;
    return OK;
}

void trained_model_fini(trained_model *s)
{
    error ignored = ERROR_INIT;
    if (s->unpacked && fs_remove_tree(s->unpacked, &ignored) != OK)
        LOG_W("LEFT", "%s", ignored.text);
    free(s->unpacked);
    config_destroy(&s->config);
    free(s->model);
    free(s->config_path);
    free(s->vocabulary);
    *s = (trained_model){.model = NULL};
}

/* "0.9,1" */
static bool read_shares(const char *text, double *ret_from, double *ret_to)
{
    char *end;
    *ret_from = strtod(text, &end);
    if (end == text || *end != ',')
        return false;
    text = end + 1;
    *ret_to = strtod(text, &end);
    return end != text && !*end && *ret_from >= 0.0 && *ret_from < *ret_to && *ret_to <= 1.0;
}

status trained_model_part(const args *a, dataset_part *part, const dataset_part **ret_part, error *err)
{
    const char *range = args_text(a, "range");
    *part = (dataset_part){.to = 1.0};
    if (range && !read_shares(range, &part->from, &part->to))
        return FAIL(err, E_USAGE,
                    "%s: --range '%s': must be two shares of the data from 0 to 1, the lower one "
                    "first, as 0.9,1",
                    a->command->name, range);
    *ret_part = range || args_has(a, "data") || a->n_operands > 1 ? part : NULL;
    return OK;
}

status trained_model_device(const trained_model *s, const args *a, backend_choice *ret, error *err)
{
    int threads = (int)args_count(a, "threads", config_int(s->config, "trainer.threads"));
    const char *allennlp = args_text(a, "cuda-device"), *name = args_text(a, "device");
    if (allennlp && name)
        return FAIL(err, E_USAGE, "%s: --device and --cuda-device both say where: give one of them",
                    a->command->name);
    if (!allennlp && !name) {
        *ret = devices_one(threads);
        return OK;
    }
    if (allennlp)
        name = allennlp[0] == '-' ? "cpu" : allennlp;
    if (backend_named(name, threads, ret, err) == OK)
        return OK;
    error_prepend(err, "%s: --%s", a->command->name, allennlp ? "cuda-device" : "device");
    return E_USAGE;
}
