/*
 * The folder checkpoints/: how a step gets its name, what may go.
 *
 * A step-N folder is a checkpoint exactly while manifest.json is in it. So a commit renames a
 * folder that has one, and pruning unlinks the manifest first; then the folder is renamed to
 * step-N.gone.<k>, which costs nothing, and removed when there is time. A replaced step is swapped
 * by one atomic exchange; where the file system cannot do that, the old folder is set aside as
 * step-N.old.<era> and jobdir_prepare puts it back should the commit die between the two renames.
 */
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/checkpoint_internal.h"
#include "common/store/folder_lock.h"
#include "common/store/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GONE ".gone."

/* --- the text file `checkpoint` --- */

/* The entries are relative to the job dir, so that it can be moved. */
static status write_index(const jobdir *d, const int64_t *steps, size_t n, error *err)
{
    buf text = BUF_INIT;
    if (n)
        buf_addf(&text, "model_checkpoint_path: \"checkpoints/" CHECKPOINT_STEP "\"\n",
                 (long long)steps[n - 1]);
    for (size_t i = 0; i < n; i++)
        buf_addf(&text, "all_model_checkpoint_paths: \"checkpoints/" CHECKPOINT_STEP "\"\n",
                 (long long)steps[i]);
    status st = jobdir_write(d, "checkpoint", text.data ? text.data : "", text.size, err);
    buf_fini(&text);
    return st;
}

status checkpoint_refresh_index(const jobdir *d, error *err)
{
    int64_t *steps = NULL;
    size_t n = 0;
    TRY(checkpoint_list(d, &steps, &n, err));
    status st = write_index(d, steps, n, err);
    free(steps);
    return st;
}

/* --- commit --- */

static status check_shards(const char *folder, const manifest *m, error *err)
{
    for (size_t i = 0; i < m->n_shards; i++) {
        char *path = xasprintf("%s/%s", folder, m->shards[i].file);
        struct stat info;
        status st = OK;
        if (stat(path, &info) != 0)
            st = fs_fail(err, "look at", path);
        else if ((uint64_t)info.st_size != m->shards[i].bytes)
            st = FAIL(err, E_DATA, "'%s': %lld bytes, its server reported %llu", path,
                      (long long)info.st_size, (unsigned long long)m->shards[i].bytes);
        free(path);
        TRY(st);
    }
    return OK;
}

/* What writers left half written that died, or write still although another was quicker. */
static status remove_strays(const char *folder, const manifest *m, error *err)
{
    char **names = NULL;
    size_t n = 0;
    TRY(fs_list(folder, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < m->n_shards && strcmp(names[i], m->shards[k].file) != 0)
            k++;
        char *path = xasprintf("%s/%s", folder, names[i]);
        if (k == m->n_shards)
            unlink(path); /* at worst it takes room */
        free(path);
    }
    fs_list_free(names, n);
    return OK;
}

/* step-N with whatever is behind it becomes step-N<mark><k>. Returns errno; 0: *ret_name is its name,
 * and the caller's to free. */
int checkpoint_rename(const char *folder, const char *mark, char **ret_name)
{
    int failure = EEXIST;
    int64_t step;
    const char *rest;
    BUG_ON(!checkpoint_parse_step(strrchr(folder, '/') + 1, &step, &rest));
    for (int k = 0; failure == EEXIST || failure == ENOTEMPTY; k++) {
        free(*ret_name);
        *ret_name = xasprintf("%.*s%s%d", (int)(rest - folder), folder, mark, k);
        failure = rename(folder, *ret_name) == 0 ? 0 : errno;
    }
    return failure;
}

/* Gives step-N, step-N.tmp.<era> or step-N.old.<era> a name that checkpoint_sweep removes; absent
 * is fine. */
static status set_aside(const char *folder, error *err)
{
    char *name = NULL;
    int failure = checkpoint_rename(folder, GONE, &name);
    free(name);
    if (fs_names_no_folders(failure))
        return fs_remove_tree(folder, err);
    if (failure && failure != ENOENT)
        return FAIL(err, fs_cause(failure), "set '%s' aside: %s", folder, strerror(failure));
    return OK;
}

/* At worst it takes room until the next time. Takes the path. */
static void try_set_aside(char *folder)
{
    status ignored = set_aside(folder, NULL);
    (void)ignored;
    free(folder);
}

/* A folder that must not count as a checkpoint for a moment longer loses its manifest first. */
static status remove_checkpoint(const char *folder, error *err)
{
    char *path = xasprintf("%s/manifest.json", folder);
    status st = OK;
    if (unlink(path) != 0 && errno != ENOENT)
        st = fs_fail(err, "remove", path);
    free(path);
    return st == OK ? set_aside(folder, err) : st;
}

/* A checkpoint out of the way; where folders have no other name it is gone before the next is there. */
static status clear(const char *place, const char *aside, error *err)
{
    if (rename(place, aside) == 0)
        return OK;
    return fs_names_no_folders(errno) ? remove_checkpoint(place, err) : fs_fail(err, "rename to", aside);
}

static status checkpoint_replace(const char *fresh, const char *place, uint32_t era, error *err)
{
    if (renameat2(AT_FDCWD, fresh, AT_FDCWD, place, RENAME_EXCHANGE) == 0) {
        try_set_aside(xstrdup(fresh));
        return OK;
    }
    char *aside = xasprintf("%s.old.%u", place, era);
    status st = fs_remove_tree(aside, err);
    if (st == OK)
        st = clear(place, aside, err);
    if (st == OK)
        st = fs_move_folder(fresh, place, "manifest.json", err);
    if (st == OK)
        st = remove_checkpoint(aside, err);
    free(aside);
    return st;
}

static status give_name(const char *fresh, const char *place, uint32_t era, error *err)
{
    char *path = xasprintf("%s/manifest.json", place);
    bool complete = fs_exists(path);
    free(path);
    if (complete)
        return checkpoint_replace(fresh, place, era, err);
    TRY(fs_remove_tree(place, err));
    return fs_move_folder(fresh, place, "manifest.json", err);
}

/* All but its name. */
static status finish_folder(const jobdir *d, const char *fresh, const manifest *m, error *err)
{
    char *path = xasprintf("%s/manifest.json", fresh);
    status st = OK;
    TRY_OUT(st, check_shards(fresh, m, err));
    TRY_OUT(st, remove_strays(fresh, m, err));
    TRY_OUT(st, manifest_write(m, path, err));
    TRY_OUT(st, fs_sync_dir(fresh, err));
    TRY_OUT(st, jobdir_check_ours(d, err)); /* syncing may have taken long */
out:
    free(path);
    return st;
}

status checkpoint_commit(const jobdir *d, uint32_t era, const manifest *m, error *err)
{
    char *root = jobdir_file(d, "checkpoints");
    char *place = xasprintf("%s/" CHECKPOINT_STEP, root, (long long)m->step);
    char *fresh = xasprintf("%s.tmp.%u", place, era), *named = xasprintf("%s/manifest.json", place);
    status st = OK;
    TRY_OUT(st, jobdir_check_ours(d, err));
    if (fs_exists(fresh) || !manifest_is_at(m, named)) { /* else an earlier call failed behind that */
        TRY_OUT(st, finish_folder(d, fresh, m, err));
        TRY_OUT(st, give_name(fresh, place, era, err));
    }
    TRY_OUT(st, fs_sync_dir(root, err));
    TRY_OUT(st, checkpoint_refresh_index(d, err));
out:
    free(named);
    free(fresh);
    free(place);
    free(root);
    return st;
}

void checkpoint_discard(const jobdir *d, int64_t step, uint32_t era)
{
    try_set_aside(jobdir_file(d, "checkpoints/" CHECKPOINT_STEP ".tmp.%u", (long long)step, era));
}

/* --- prune --- */

/* Of the newest `keep`, or of all; -1: there is none. */
static status oldest_kept(const jobdir *d, const checkpoint_pruning *p, int64_t *ret, error *err)
{
    int64_t *steps = NULL;
    size_t n = 0;
    TRY(checkpoint_list(d, &steps, &n, err));
    size_t keep = p->keep > 0 && (size_t)p->keep < n ? (size_t)p->keep : n;
    *ret = keep ? steps[n - keep] : -1;
    free(steps);
    return OK;
}

static bool contains(const int64_t *steps, size_t n, int64_t step)
{
    for (size_t i = 0; i < n; i++)
        if (steps[i] == step)
            return true;
    return false;
}

/* An unfinished folder that nobody will finish: "step-N" with `rest` behind it. */
static bool is_over(int64_t step, const char *rest, const checkpoint_pruning *p)
{
    static const char mark[] = ".tmp.";
    if (strncmp(rest, mark, strlen(mark)) != 0)
        return false;
    unsigned long long era = strtoull(rest + strlen(mark), NULL, 10);
    return era < p->era || (era == p->era && step < p->committed);
}

/* Left-overs: unfinished folders, replaced ones whose successor stands, and those set aside that would
 * not be kept if they were checkpoints. */
static status remove_left_overs(const jobdir *d, const checkpoint_pruning *p, error *err)
{
    char **names = NULL;
    size_t n = 0;
    int64_t oldest = -1;
    TRY(oldest_kept(d, p, &oldest, err));
    TRY(checkpoint_list_folder(d, "checkpoints", &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        int64_t step;
        const char *rest;
        if (!checkpoint_parse_step(names[i], &step, &rest))
            continue;
        bool replaced = strncmp(rest, ".old.", 5) == 0 && checkpoint_is_there(d, step);
        bool is_past = checkpoint_is_aside(rest) && step < oldest;
        bool is_remnant = *rest == '\0' && !checkpoint_is_there(d, step);
        if (is_over(step, rest, p) || replaced || is_past || is_remnant)
            try_set_aside(jobdir_file(d, "checkpoints/%s", names[i]));
    }
    fs_list_free(names, n);
    return OK;
}

static status remove_steps(const jobdir *d, const int64_t *steps, size_t n, error *err)
{
    for (size_t i = 0; i < n; i++) {
        TRY(jobdir_check_ours(d, err));
        char *path = checkpoint_path(d, steps[i]);
        status st = remove_checkpoint(path, err);
        free(path);
        TRY(st);
    }
    return OK;
}

/* Sorts the steps into those that stay and those that go; the index names only what stays before
 * anything goes. */
static status prune_locked(const jobdir *d, const checkpoint_pruning *p, error *err)
{
    int64_t *steps = NULL, *pinned = NULL;
    size_t n = 0, n_pinned = 0;
    status st = OK;
    TRY(checkpoint_list(d, &steps, &n, err));
    int64_t *stay = xcalloc(n + 1, sizeof *stay), *go = xcalloc(n + 1, sizeof *go);
    TRY_OUT(st, checkpoint_list_pinned(d, &pinned, &n_pinned, err));
    size_t n_stay = 0, n_go = 0;
    for (size_t i = 0; i < n; i++) {
        bool stays = p->keep <= 0 || n - i <= (size_t)p->keep ||
                     contains(p->spare, p->n_spare, steps[i]) ||
                     contains(pinned, n_pinned, steps[i]);
        if (stays)
            stay[n_stay++] = steps[i];
        else
            go[n_go++] = steps[i];
    }
    if (n_go) {
        TRY_OUT(st, write_index(d, stay, n_stay, err));
        TRY_OUT(st, remove_steps(d, go, n_go, err));
    }
out:
    free(go);
    free(stay);
    free(pinned);
    free(steps);
    return st;
}

status checkpoint_prune(const jobdir *d, const checkpoint_pruning *p, error *err)
{
    TRY(jobdir_check_ours(d, err));
    int lock = -1;
    bool may = checkpoint_lock_pins(d, &lock); /* else the next prune does it */
    status st = may ? prune_locked(d, p, err) : OK;
    folder_unlock(lock);
    if (st == OK && may)
        st = remove_left_overs(d, p, err);
    if (st != OK)
        error_prepend(err, "prune checkpoints");
    return st;
}

status checkpoint_sweep(const jobdir *d, error *err)
{
    char **names = NULL;
    size_t n = 0;
    status first = checkpoint_list_folder(d, "checkpoints", &names, &n, err);
    for (size_t i = 0; i < n; i++) {
        int64_t step;
        const char *rest;
        if (!checkpoint_parse_step(names[i], &step, &rest) || strncmp(rest, GONE, strlen(GONE)) != 0)
            continue;
        char *path = jobdir_file(d, "checkpoints/%s", names[i]);
        status st = fs_remove_tree(path, first == OK ? err : NULL);
        first = first == OK ? st : first;
        free(path);
    }
    fs_list_free(names, n);
    return first;
}
