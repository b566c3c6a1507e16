#include "cli/tune/trial_files.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static status fetch_json(const trial_files *f, const char *path, json_t **ret, error *err)
{
    char copy[64];
    int fd = memfd_create("fetched", MFD_CLOEXEC);
    if (fd < 0)
        return fs_fail(err, "hold in memory", path);
    snprintf(copy, sizeof copy, "/proc/self/fd/%d", fd);
    fs_map text = {.data = NULL};
    status st = f->fetch(f->user, path, fd, err);
    if (st == OK)
        st = fs_map_open(copy, &text, err);
    if (st == OK) {
        st = json_parse(text.data ? (const char *)text.data : "", text.bytes, path, E_DATA, ret, err);
        fs_map_close(&text);
    }
    close(fd);
    return st;
}

status trial_files_read(const trial_files *f, const char *job_dir, const char *name, json_t **ret, error *err)
{
    char *path = xasprintf("%s/%s", job_dir, name);
    status st = f->fetch ? fetch_json(f, path, ret, err) : json_read_file(path, ret, err);
    free(path);
    return st;
}

/* Nobody writes into a file of a job dir: it is replaced. So a link is as good as a copy. */
static status place_own(const char *from, const char *to, error *err)
{
    fs_map file;
    if (link(from, to) == 0)
        return OK;
    TRY(fs_map_open(from, &file, err));
    status st = fs_write_atomic(to, file.data ? (const void *)file.data : "", file.bytes, err);
    fs_map_close(&file);
    return st;
}

/* One of a fetch that failed is removed. */
static status fetch_beside(const trial_files *f, const char *from, const char *to, const char *beside, error *err)
{
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return fs_fail(err, "create", beside);
    status st = f->fetch(f->user, from, fd, err);
    if (st == OK && fsync(fd) != 0)
        st = fs_fail(err, "sync", beside);
    if (close(fd) != 0 && st == OK)
        st = fs_fail(err, "close", beside);
    if (st == OK && rename(beside, to) != 0)
        st = fs_fail(err, "rename to", to);
    if (st != OK)
        unlink(beside);
    return st;
}

static status place_fetched(const trial_files *f, const char *from, const char *to, bool *ret_is_there, error *err)
{
    char *beside = fs_beside(to), *folder = fs_parent(to);
    error why = ERROR_INIT;
    status st = fetch_beside(f, from, to, beside, &why);
    *ret_is_there = st == OK;
    if (st == OK)
        st = fs_sync_dir(folder, err);
    else if (st == E_DATA)
        st = OK;
    else
        st = FAIL(err, st, "%s", why.text);
    free(folder);
    free(beside);
    return st;
}

status trial_files_place(const trial_files *f, const char *job_dir, const char *name, const char *to,
                         bool *ret_is_there, error *err)
{
    char *from = xasprintf("%s/%s", job_dir, name);
    status st = OK;
    if (f->fetch) {
        st = place_fetched(f, from, to, ret_is_there, err);
    } else {
        *ret_is_there = fs_exists(from);
        st = *ret_is_there ? place_own(from, to, err) : OK;
    }
    free(from);
    return st;
}
