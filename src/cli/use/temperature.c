/* See temperature.h. */
#include "cli/use/temperature.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/store/weights.h"

#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NULL: there is no place. */
static char *path_beside(const trained_model *s)
{
    if (!s->config_path || s->unpacked)
        return NULL;
    char *copy = xstrdup(s->config_path), *path = xasprintf("%s/temperature.json", dirname(copy));
    free(copy);
    return path;
}

/* Of names and values. */
static status digest_weights(const char *model, char ret_hex[SHA256_HEX], error *err)
{
    weights *w = NULL;
    sha256 h = {.context = NULL};
    TRY(weights_open(model, &w, err));
    sha256_begin(&h);
    for (size_t i = 0; i < weights_count(w); i++) {
        const st_tensor *t = weights_at(w, i);
        sha256_add(&h, t->name, strlen(t->name) + 1);
        sha256_add(&h, t->data, t->bytes);
    }
    sha256_end(&h, ret_hex);
    weights_close(&w);
    return OK;
}

/* An empty object if there is no file yet. */
static status read_all(const char *path, json_t **ret, error *err)
{
    if (fs_exists(path))
        return json_read_file(path, ret, err);
    *ret = json_object();
    return OK;
}

static status keep_at(const char *path, const char *digest, const json_t *found, const char *data, error *err)
{
    json_t *all = NULL, *one = json_copy((json_t *)(uintptr_t)found);
    json_object_set_new(one, "data", json_string(data));
    status st = read_all(path, &all, err);
    if (st == OK && json_object_set(all, digest, one) != 0)
        st = FAIL(err, E_DATA, "'%s': is no object of temperatures by weights", path);
    if (st == OK)
        st = json_write_file(path, all, err);
    json_decref(one);
    json_decref(all);
    return st;
}

status temperature_keep(const trained_model *s, const json_t *found, const char *data, error *err)
{
    char digest[SHA256_HEX], *path = path_beside(s);
    status st = OK;
    if (!json_is_real(json_object_get(found, "temperature")))
        st = FAIL(err, E_DATA, "--temperature: no temperature from 0.01 to 100 has the least loss on '%s': all is "
                               "right there, or scores say nothing of labels", data);
    else if (!path)
        LOG_W("NOT_KEPT",
              "the temperature is not kept, for the model is not in a job dir: give predict --temperature %.9g",
              json_real_value(json_object_get(found, "temperature")));
    else
        st = digest_weights(s->model, digest, err);
    if (st == OK && path)
        st = keep_at(path, digest, found, data, err);
    free(path);
    return st;
}

static status find_kept(const trained_model *s, double *ret, error *err)
{
    char digest[SHA256_HEX], *path = path_beside(s);
    json_t *all = NULL;
    status st = OK;
    if (path)
        st = digest_weights(s->model, digest, err);
    if (st == OK && path)
        st = read_all(path, &all, err);
    const json_t *one = st == OK && path ? json_object_get(all, digest) : NULL;
    double kept = json_number_value(json_object_get(one, "temperature"));
    if (st == OK && !(kept > 0.0))
        st = FAIL(err, E_DATA, "predict: --temperature fitted: none is kept for the weights '%s'; `tequio evaluate "
                               "--temperature` fits one", s->model);
    if (st == OK)
        *ret = kept;
    json_decref(all);
    free(path);
    return st;
}

status temperature_read(const trained_model *s, const char *text, double *ret, error *err)
{
    char *end;
    if (strcmp(text, "fitted") == 0)
        return find_kept(s, ret, err);
    double x = strtod(text, &end);
    if (end == text || *end || !(x > 0.0) || !isfinite(x))
        return FAIL(err, E_USAGE, "predict: --temperature '%s': must be a number above 0, or fitted", text);
    *ret = x;
    return OK;
}
