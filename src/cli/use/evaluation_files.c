#include "cli/use/evaluation_files.h"

#include "common/base/fs.h"
#include "common/base/log.h"
#include "data/multitask/data_paths.h"

#include <string.h>

/* The parts of a list; a NULL list has none. */
static const char **split(const char *list, arena *memory, size_t *ret_n)
{
    size_t n = 0;
    const char **ret = arena_alloc(memory, ((list ? strlen(list) : 0) + 2) * sizeof *ret);
    for (const char *at = list; at;) {
        size_t bytes = strcspn(at, ",");
        ret[n++] = arena_strndup(memory, at, bytes);
        at = at[bytes] ? at + bytes + 1 : NULL;
    }
    *ret_n = n;
    return ret;
}

/* A path without the last ending of its name. */
static const char *stem(const char *path, arena *memory)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return dot && dot > name ? arena_strndup(memory, path, (size_t)(dot - path)) : path;
}

static const char *stem_name(const char *path, arena *memory)
{
    const char *whole = stem(path, memory), *slash = strrchr(whole, '/');
    return slash ? slash + 1 : whole;
}

/* One kind of file for each of the data: as the flag names them, or after the data. */
static status name_files(const args *a, const char *which, const char *ending, arena *memory,
                         const evaluation_files *files, size_t n, const char **ret, error *err)
{
    size_t n_given;
    bool is_auto = ending != NULL;
    const char *listed = args_text(a, which);
    const char **given = split(is_auto ? NULL : listed, memory, &n_given);
    if (is_auto && listed)
        LOG_W("ALLENNLP", "--%s is ignored: --auto-names names these files", which);
    if (n_given && n_given != n)
        return FAIL(err, E_USAGE, "evaluate: --%s names %zu files for %zu files of examples", which, n_given, n);
    for (size_t i = 0; i < n; i++)
        ret[i] = is_auto   ? arena_printf(memory, "%s.%s", stem(files[i].data, memory), ending)
                 : n_given ? given[i]
                           : NULL;
    return OK;
}

static status check_names(const evaluation_files *files, size_t n, error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!files[i].data[0])
            return FAIL(err, E_USAGE, "evaluate: one of the paths that commas part is empty");
        for (size_t k = 0; k < i; k++)
            if (strcmp(files[k].name, files[i].name) == 0)
                return FAIL(err, E_USAGE, "evaluate: '%s' and '%s' have one name, '%s', and so would their metrics",
                            files[k].data, files[i].data, files[i].name);
    }
    return OK;
}

status evaluation_files_read(const args *a, const char *data, bool is_list, arena *memory,
                             const evaluation_files **ret, size_t *ret_n, error *err)
{
    size_t n = 1;
    const char *how = args_text(a, "auto-names"), **paths = &data;
    if (is_list && !data_paths_are_named(data) && !fs_exists(data))
        paths = split(data, memory, &n);
    evaluation_files *files = arena_alloc(memory, n * sizeof *files);
    for (size_t i = 0; i < n; i++)
        files[i] = (evaluation_files){.data = paths[i], .name = stem_name(paths[i], memory)};
    TRY(check_names(files, n, err));
    bool all = how && strcmp(how, "ALL") == 0;
    const char **metrics = arena_alloc(memory, 2 * n * sizeof *metrics), **predictions = metrics + n;
    TRY(name_files(a, "output-file", all || (how && strcmp(how, "METRICS") == 0) ? "outputs" : NULL, memory, files, n,
                   metrics, err));
    TRY(name_files(a, "predictions-output-file", all || (how && strcmp(how, "PREDS") == 0) ? "preds" : NULL, memory,
                   files, n, predictions, err));
    for (size_t i = 0; i < n; i++) {
        files[i].metrics = metrics[i];
        files[i].predictions = predictions[i];
    }
    *ret = files;
    *ret_n = n;
    return OK;
}
