#include "cli/look/page_token.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdlib.h>

status page_token_choose(const char *file, char *const *dirs, size_t n, char ret[JOBKEY_TEXT], error *err)
{
    jobkey key;
    char *own = n == 1 ? xasprintf("%s/key", dirs[0]) : NULL;
    const char *from = file ? file : own && fs_exists(own) ? own : NULL;
    status st = from ? jobkey_read(from, &key, err) : jobkey_make(&key, err);
    if (st == OK)
        jobkey_derive_token(&key, JOBKEY_PAGE, ret);
    jobkey_wipe(&key, sizeof key);
    free(own);
    return st;
}
