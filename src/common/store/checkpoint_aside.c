/*
 * Checkpoints that count no more: found missing something, or set aside, as step-N.damaged.<k> or, whole but
 * behind the one that a start went back to, as step-N.undone.<k>.
 */
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/store/checkpoint_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

status checkpoint_newest(const jobdir *d, int64_t *ret, error *err)
{
    int64_t *list = NULL;
    size_t n = 0;
    TRY(checkpoint_list(d, &list, &n, err));
    *ret = n ? list[n - 1] : -1;
    free(list);
    return OK;
}

status checkpoint_check_lost(const jobdir *d, error *err)
{
    char **names = NULL;
    size_t n = 0;
    buf aside = BUF_INIT;
    TRY(checkpoint_list_folder(d, "checkpoints", &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        int64_t step;
        const char *rest;
        if (checkpoint_parse_step(names[i], &step, &rest) && checkpoint_is_aside(rest))
            buf_addf(&aside, "%s%s", aside.size ? ", " : "", names[i]);
    }
    fs_list_free(names, n);
    status st = OK;
    if (aside.size)
        st = FAIL(err, E_DATA,
                  "'%s/checkpoints' holds no checkpoint that is whole, only what was set aside: %s "
                  "('tequio inspect' says what is wrong with each); put one back from a copy, as "
                  "step-N, or start over with --force or in another directory",
                  jobdir_path(d), aside.data);
    buf_fini(&aside);
    return st;
}

uint32_t checkpoint_times_aside(const jobdir *d, int64_t step)
{
    char **names = NULL;
    size_t n = 0;
    uint32_t times = 0;
    if (checkpoint_list_folder(d, "checkpoints", &names, &n, NULL) != OK)
        return 0;
    for (size_t i = 0; i < n; i++) {
        int64_t one;
        const char *rest;
        times += checkpoint_parse_step(names[i], &one, &rest) && one == step && checkpoint_is_aside(rest);
    }
    fs_list_free(names, n);
    return times;
}

bool checkpoint_remnant(const jobdir *d, int64_t after, int64_t *ret)
{
    char **names = NULL;
    size_t n = 0;
    bool any = false;
    if (checkpoint_list_folder(d, "checkpoints", &names, &n, NULL) != OK)
        return false;
    for (size_t i = 0; i < n && !any; i++) {
        const char *rest;
        any = checkpoint_parse_step(names[i], ret, &rest) && !*rest && *ret > after &&
              !checkpoint_is_there(d, *ret);
    }
    fs_list_free(names, n);
    return any;
}

/* A file that may not be read is not damaged for that. */
static status check_may_read(const char *folder, error *err)
{
    char **names = NULL;
    size_t n = 0;
    status st = OK;
    TRY(fs_list(folder, &names, &n, err));
    for (size_t i = 0; st == OK && i < n; i++) {
        char *path = xasprintf("%s/%s", folder, names[i]);
        if (access(path, R_OK) != 0 && errno == EACCES)
            st = fs_fail_input("read", path, err);
        free(path);
    }
    fs_list_free(names, n);
    return st;
}

/* Where folders have no other name, the files move. */
static status rename_to(const char *path, const char *mark, char **ret_name, error *err)
{
    int failure = checkpoint_rename(path, mark, ret_name);
    if (fs_names_no_folders(failure))
        return fs_move_folder(path, *ret_name, "manifest.json", err);
    return failure ? FAIL(err, fs_cause(failure), "rename '%s': %s", path, strerror(failure)) : OK;
}

status checkpoint_condemn(const jobdir *d, int64_t step, char **ret_name, error *err)
{
    char *path = checkpoint_path(d, step), *name = NULL;
    status st = jobdir_check_ours(d, err);
    if (st == OK)
        st = check_may_read(path, err);
    if (st == OK)
        st = rename_to(path, CHECKPOINT_DAMAGED, &name, err);
    if (st == OK)
        st = checkpoint_refresh_index(d, err);
    if (st == OK)
        *ret_name = name;
    else
        free(name);
    free(path);
    return st;
}

/* The newest goes first: cut short, it can be done again. */
status checkpoint_undo(const jobdir *d, int64_t after, error *err)
{
    int64_t *list = NULL;
    size_t n = 0;
    TRY(checkpoint_list(d, &list, &n, err));
    status st = OK;
    while (st == OK && n-- > 0 && list[n] > after) {
        char *path = checkpoint_path(d, list[n]), *name = NULL;
        st = rename_to(path, CHECKPOINT_UNDONE, &name, err);
        if (st == OK)
            LOG_W("CHECKPOINT_UNDONE",
                  "checkpoint step=%lld: the job goes back to step %lld; it is kept as %s until "
                  "newer ones take its place",
                  (long long)list[n], (long long)after, strrchr(name, '/') + 1);
        free(name);
        free(path);
    }
    free(list);
    return st == OK ? checkpoint_refresh_index(d, err) : st;
}
