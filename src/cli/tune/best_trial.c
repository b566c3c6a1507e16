#include "cli/tune/best_trial.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/store/weights.h"

#include <stdlib.h>
#include <string.h>

static const char trial_file[] = "trial.json"; /* the last of the folder's files */

static const struct {
    const char *from, *to;
    bool may_lack;
} files[] = {
    {"config.json", "config.json", false},
    {"best/model.safetensors", "model.safetensors", false},
    {"best/metrics.json", "metrics.json", true},
    {"vocabulary.json", "vocabulary.json", true}, /* not every reader learns one */
    {"summary.json", "summary.json", true},
};

static status place_files(const trial_files *f, const char *job_dir, const char *folder, error *err)
{
    status st = OK;
    for (size_t i = 0; st == OK && i < COUNT_OF(files); i++) {
        char *to = xasprintf("%s/%s", folder, files[i].to);
        bool is_there = false;
        st = trial_files_place(f, job_dir, files[i].from, to, &is_there, err);
        if (st == OK && !is_there && !files[i].may_lack)
            st = FAIL(err, E_DATA, "'%s' has no %s", job_dir, files[i].from);
        free(to);
    }
    return st;
}

/* The trial's own tells of the weights that it ended with. */
static status name_weights(const char *folder, error *err)
{
    char *path = xasprintf("%s/summary.json", folder), *model = xasprintf("%s/model.safetensors", folder);
    char digest[SHA256_HEX];
    weights *w = NULL;
    json_t *summary = NULL;
    status st = OK;
    if (!fs_exists(path))
        goto out;
    TRY_OUT(st, json_read_file(path, &summary, err));
    TRY_OUT(st, weights_open(model, &w, err));
    weights_params_sha256(w, digest);
    json_object_set_new(summary, "params_sha256", json_string(digest));
    st = json_write_file(path, summary, err);
out:
    weights_close(&w);
    json_decref(summary);
    free(model);
    free(path);
    return st;
}

static status write_trial(const study *s, const trial *best, const char *folder, error *err)
{
    char *path = xasprintf("%s/%s", folder, trial_file);
    json_t *tree = json_pack("{s:i, s:f, s:I}", "trial", best->number, "objective", best->objective, "steps",
                             (json_int_t)best->steps);
    json_object_set_new(tree, "values", space_values(s->space, best->point));
    char *text = json_dumps(tree, JSON_INDENT(2) | JSON_REAL_PRECISION(STUDY_DIGITS));
    status st = fs_write_atomic(path, text, strlen(text), err);
    free(text);
    json_decref(tree);
    free(path);
    return st;
}

/* Whether the folder is that trial's. */
static bool is_kept(const char *folder, int number)
{
    char *path = xasprintf("%s/%s", folder, trial_file), *model = xasprintf("%s/model.safetensors", folder);
    json_t *tree = NULL;
    bool kept = fs_exists(model) && json_read_file(path, &tree, NULL) == OK &&
                json_integer_value(json_object_get(tree, "trial")) == number;
    json_decref(tree);
    free(model);
    free(path);
    return kept;
}

static status fill(const study *s, const trial *best, const trial_files *f, const char *job_dir, const char *folder,
                   error *err)
{
    TRY(fs_remove_tree(folder, err)); /* what a kill has left */
    TRY(fs_mkdirs(folder, err));
    TRY(place_files(f, job_dir, folder, err));
    TRY(name_weights(folder, err));
    return write_trial(s, best, folder, err);
}

status best_trial_keep(const study *s, const trial_files *f, const char *dir, error *err)
{
    const trial *best = study_best(s);
    if (!best)
        return OK;
    char *job_dir = xasprintf("%s/trials/%d", dir, best->number);
    char *folder = xasprintf("%s/best", dir), *beside = xasprintf("%s/best.new", dir);
    status st = OK;
    if (!is_kept(folder, best->number)) {
        st = fill(s, best, f, job_dir, beside, err);
        if (st == OK)
            st = fs_remove_tree(folder, err);
        if (st == OK)
            st = fs_move_folder(beside, folder, trial_file, err);
        if (st != OK)
            error_prepend(err, "keep the model of trial %d", best->number);
    }
    free(beside);
    free(folder);
    free(job_dir);
    return st;
}
