/* A member more of an archive (archive.h), and the end of all. */
#include "data/index/archive.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static bool climbs_out(const char *name)
{
    if (name[0] == '/')
        return true;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return true;
    }
    return false;
}

status archive_add(archive *a, const char *origin, archive_member member, error *err)
{
    if (climbs_out(member.name) || !member.name[0]) {
        status st =
            FAIL(err, E_DATA, "'%s': holds '%s', a name that leads out of the archive", origin, member.name);
        free(member.name);
        return st;
    }
    GROW(a->at, a->cap, a->n + 1);
    a->at[a->n++] = member;
    return OK;
}

void archive_close(archive *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->at[i].name);
    free(a->at);
    *a = (archive){.at = NULL};
}

const archive_member *archive_find(const archive *a, const char *name)
{
    for (size_t i = 0; i < a->n; i++) {
        const char *own = a->at[i].name;
        if (strcmp(strncmp(own, "./", 2) == 0 ? own + 2 : own, name) == 0)
            return &a->at[i];
    }
    return NULL;
}

bool archive_member_is_whole(const archive_member *m)
{
    bool is_said = m->packing.kind == PACKING_NONE && m->packing.checksum;
    return !is_said || crc32_z(0, m->data, m->bytes) == m->packing.checksum;
}
