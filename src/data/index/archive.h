/*
 * Archives, by where their members lie: nothing is unpacked here, and nothing is ever written under a
 * member's name.
 *
 *   tar    POSIX ustar and pax, and GNU's long names
 *   zip    with ZIP64; members that are stored or deflated, not encrypted
 *
 * Only plain files count. A name that climbs out of the archive ("../x", "/x") is refused, as are a
 * damaged head, a member beyond the end and a name that stands there twice: E_DATA, with the archive and
 * the byte. Pure functions of the bytes.
 */
#ifndef TEQUIO_DATA_INDEX_ARCHIVE_H
#define TEQUIO_DATA_INDEX_ARCHIVE_H

#include "data/gunzip.h"

typedef enum archive_kind { ARCHIVE_NONE, ARCHIVE_TAR, ARCHIVE_ZIP } archive_kind;

typedef struct archive_member {
    char *name;
    const unsigned char *data;      /* within the archive's bytes, as they lie there */
    size_t bytes;
    packing packing;
} archive_member;

typedef struct archive {
    archive_member *at;             /* [n], by name */
    size_t n, cap;
} archive;

archive_kind archive_kind_of(const unsigned char *data, size_t bytes);
/* `origin` names the archive. An archive may have no members. */
MUST_USE status archive_open(archive_kind kind, const unsigned char *data, size_t bytes, const char *origin,
                             archive *ret, error *err);
void archive_close(archive *a);
/* Are the bytes of a member that is only stored those of the checksum that the archive says? True where it says none:
 * of a tar, or 0, as torch.save may write. Reads all of them. */
bool archive_member_is_whole(const archive_member *m);
/* A member by its name, or as "./NAME"; NULL: there is none. */
const archive_member *archive_find(const archive *a, const char *name);

/* For the readers of each kind: a member more; takes the name. E_DATA if it climbs out. */
MUST_USE status archive_add(archive *a, const char *origin, archive_member member, error *err);
/* The plain files of a tar one by one, in their order, with the byte at which the first head of each begins; the
 * visitor frees the member's name. Not `is_whole`: a piece of one, which ends with a member. */
typedef status archive_visit(void *user, const archive_member *member, size_t begin, error *err);
MUST_USE status archive_walk_tar(const unsigned char *data, size_t bytes, const char *origin, bool is_whole,
                                 archive_visit *visit, void *user, error *err);
MUST_USE status archive_read_tar(const unsigned char *data, size_t bytes, const char *origin, archive *ret,
                                 error *err);
MUST_USE status archive_read_zip(const unsigned char *data, size_t bytes, const char *origin, archive *ret,
                                 error *err);

#endif
