#include "common/store/live_file.h"

#include "common/base/fs.h"
#include "common/base/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIVE_FILE_MOST = 64 << 20 };

void live_file_write(const jobdir *d, const json_t *told)
{
    if (jobdir_check_ours(d, NULL) != OK)
        return;
    char *path = jobdir_file(d, LIVE_FILE), *text = json_text(told);
    error why = ERROR_INIT;
    if (fs_write_unsynced(path, text, strlen(text), &why) != OK)
        LOG_D("NOT_TOLD", "%s", why.text); /* a disk that takes nothing is waited for where something counts */
    free(text);
    free(path);
}

void live_file_forget(const jobdir *d)
{
    char *path = jobdir_file(d, LIVE_FILE);
    unlink(path); /* at worst it is old, and says since when */
    free(path);
}

status live_file_read(const jobdir *d, json_t **ret, error *err)
{
    buf text = BUF_INIT;
    char *path = jobdir_file(d, LIVE_FILE);
    status st = fs_exists(path) ? fs_read(path, LIVE_FILE_MOST, &text, err) : OK;
    *ret = NULL;
    if (st == OK && text.size)
        st = json_parse(text.data, text.size, path, E_DATA, ret, err);
    if (st == OK && *ret && !json_is_object(*ret)) {
        st = FAIL(err, E_DATA, "'%s': an object is needed, not %s", path, json_kind(*ret));
        json_decref(*ret);
        *ret = NULL;
    }
    free(path);
    buf_fini(&text);
    return st;
}
