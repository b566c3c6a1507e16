#include "cli/tune/trial_files.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdlib.h>
#include <unistd.h>

static status fetch_json(const trial_files *f, const char *path, json_t **ret, error *err)
{
    buf text = BUF_INIT;
    status st = f->fetch(f->user, path, &text, err);
    if (st == OK)
        st = json_parse(text.data ? text.data : "", text.size, path, E_DATA, ret, err);
    buf_fini(&text);
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

static status place_fetched(const trial_files *f, const char *from, const char *to, bool *ret_is_there, error *err)
{
    buf bytes = BUF_INIT;
    error why = ERROR_INIT;
    status st = f->fetch(f->user, from, &bytes, &why);
    *ret_is_there = st == OK;
    if (st == OK)
        st = fs_write_atomic(to, bytes.data ? bytes.data : "", bytes.size, err);
    else if (st == E_DATA)
        st = OK;
    else
        st = FAIL(err, st, "%s", why.text);
    buf_fini(&bytes);
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
