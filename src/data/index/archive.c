/* See archive.h. */
#include "data/index/archive.h"

#include "common/base/alloc.h"
#include "data/index/tar.h"

#include <stdlib.h>
#include <string.h>

archive_kind archive_kind_of(const unsigned char *data, size_t bytes)
{
    if (bytes >= TAR_MAGIC + 5 && memcmp(data + TAR_MAGIC, "ustar", 5) == 0)
        return ARCHIVE_TAR;
    if (bytes >= 4 && (memcmp(data, "PK\3\4", 4) == 0 || memcmp(data, "PK\5\6", 4) == 0))
        return ARCHIVE_ZIP;
    return ARCHIVE_NONE;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const archive_member *)a)->name, ((const archive_member *)b)->name);
}

static status sort_members(archive *a, const char *origin, error *err)
{
    if (a->n)
        qsort(a->at, a->n, sizeof *a->at, by_name);
    for (size_t i = 1; i < a->n; i++)
        if (strcmp(a->at[i - 1].name, a->at[i].name) == 0)
            return FAIL(err, E_DATA, "'%s': holds '%s' twice", origin, a->at[i].name);
    return OK;
}

status archive_open(archive_kind kind, const unsigned char *data, size_t bytes, const char *origin,
                    archive *ret, error *err)
{
    BUG_ON(kind == ARCHIVE_NONE);
    archive a = {.at = NULL};
    status st = kind == ARCHIVE_TAR ? archive_read_tar(data, bytes, origin, &a, err)
                                    : archive_read_zip(data, bytes, origin, &a, err);
    if (st == OK)
        st = sort_members(&a, origin, err);
    if (st == OK)
        *ret = a;
    else
        archive_close(&a);
    return st;
}
