#include "data/index/packed_archive.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

static status open_tar(packed_archive *a, size_t bytes, const char *path, error *err)
{
    if (archive_kind_of(a->tar, bytes) != ARCHIVE_TAR)
        return FAIL(err, E_DATA, "'%s': what is compressed there is no tar file", path);
    return archive_open(ARCHIVE_TAR, a->tar, bytes, path, &a->members, err);
}

status packed_archive_open(const char *path, packed_archive *ret, error *err)
{
    fs_map map;
    size_t bytes = 0;
    *ret = (packed_archive){.tar = NULL};
    TRY(fs_map_open(path, &map, err));
    status st = gunzip_whole(map.data, map.bytes, (packing){.kind = PACKING_GZIP}, path, &ret->tar, &bytes, err);
    fs_map_close(&map);
    TRY(st);
    st = open_tar(ret, bytes, path, err);
    if (st != OK)
        packed_archive_close(ret);
    return st;
}

void packed_archive_close(packed_archive *a)
{
    archive_close(&a->members);
    mem_free(a->tar);
    *a = (packed_archive){.tar = NULL};
}
