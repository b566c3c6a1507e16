#include "common/net/segment.h"

#include "common/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct half {
    _Alignas(SEGMENT_PAGE) atomic_uint given_back[SEGMENT_EXTENTS]; /* editions */
    _Alignas(SEGMENT_PAGE) unsigned char data[SEGMENT_HALF];
} half;

/* Of ours, what is out: pages [at, end). */
typedef struct outing {
    size_t at, end;
    uint32_t slot;
} outing;

struct segment {
    half *halves; /* [2] */
    half *ours, *theirs;
    atomic_int refs;           /* the connection's, and one for each loan */
    net_memory watched;        /* by whom */
    outing out[SEGMENT_EXTENTS]; /* in the order in which they lie */
    size_t n_out;
    uint32_t editions[SEGMENT_EXTENTS]; /* the newest of each slot */
    bool is_out[SEGMENT_EXTENTS];       /* of slots */
};

/* What is borrowed. */
typedef struct loan {
    span span;
    segment *from;
    extent what;
} loan;

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

static status map(int fd, int ours, segment **ret, error *err)
{
    half *halves =
        mmap(NULL, 2 * sizeof(half), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (halves == MAP_FAILED)
        return FAIL(err, E_NOMEM, "map shared memory: %s", strerror(errno));
    segment *s = xcalloc(1, sizeof *s);
    s->halves = halves;
    s->ours = &halves[ours];
    s->theirs = &halves[!ours];
    atomic_store(&s->refs, 1);
    *ret = s;
    return OK;
}

status segment_create(segment **ret, int *ret_fd, error *err)
{
    int fd = memfd_create("tequio", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return FAIL(err, E_FAIL, "make shared memory: %s", strerror(errno));
    status st = OK;
    if (ftruncate(fd, 2 * sizeof(half)) != 0 || fcntl(fd, F_ADD_SEALS, SEALS) != 0)
        st = FAIL(err, E_FAIL, "make shared memory: %s", strerror(errno));
    if (st == OK)
        st = map(fd, 0, ret, err);
    if (st == OK)
        *ret_fd = fd;
    else
        close(fd);
    return st;
}

status segment_join(int fd, segment **ret, error *err)
{
    struct stat of;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &of) != 0 ||
        of.st_size != (off_t)(2 * sizeof(half)))
        return FAIL(err, E_PROTOCOL, "what a peer shares is no sealed memory of %zu bytes",
                    2 * sizeof(half));
    return map(fd, 1, ret, err);
}

static void unref(segment *s)
{
    if (atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    if (s->watched.unmapped)
        s->watched.unmapped(s->watched.user, s->theirs->data);
    munmap(s->halves, 2 * sizeof(half));
    free(s);
}

void segment_watch(segment *s, const net_memory *m)
{
    s->watched = *m;
    if (m->mapped)
        m->mapped(m->user, s->theirs->data, SEGMENT_HALF);
}

void segment_drop(segment **s)
{
    if (*s)
        unref(*s);
    *s = NULL;
}

/* --- lending --- */

/* Forgets what has come back since. */
static void settle(segment *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_out; i++) {
        uint32_t slot = s->out[i].slot;
        unsigned back = atomic_load_explicit(&s->ours->given_back[slot], memory_order_acquire);
        if (back == s->editions[slot])
            s->is_out[slot] = false;
        else
            s->out[n++] = s->out[i];
    }
    s->n_out = n;
}

/* The lowest gap that is long enough, as the place in `out` of what will fill it: memory that was
 * used before is used again. */
static bool find_gap(const segment *s, size_t room, size_t *ret_i, size_t *ret_at)
{
    size_t i = 0, at = 0;
    while (i < s->n_out && s->out[i].at - at < room)
        at = s->out[i++].end;
    *ret_i = i;
    *ret_at = at;
    return i < s->n_out || SEGMENT_HALF - at >= room;
}

bool segment_lend(segment *s, size_t bytes, extent *ret, void **ret_data)
{
    size_t room = size_round_up(bytes, SEGMENT_PAGE), i, at;
    if (bytes == 0 || bytes > SEGMENT_HALF)
        return false;
    settle(s);
    if (s->n_out == SEGMENT_EXTENTS || !find_gap(s, room, &i, &at))
        return false;
    uint32_t slot = 0;
    while (s->is_out[slot])
        slot++;
    memmove(&s->out[i + 1], &s->out[i], (s->n_out++ - i) * sizeof *s->out);
    s->out[i] = (outing){at, at + room, slot};
    s->is_out[slot] = true;
    *ret = (extent){.at = at, .bytes = bytes, .slot = slot, .edition = ++s->editions[slot]};
    *ret_data = s->ours->data + at;
    return true;
}

static void give_back(half *of, const extent *what)
{
    atomic_store_explicit(&of->given_back[what->slot], what->edition, memory_order_release);
}

void segment_take_back(segment *s, const extent *lent)
{
    give_back(s->ours, lent);
}

/* --- borrowing --- */

static void give_loan_back(span *s)
{
    loan *l = s->owner;
    give_back(l->from->theirs, &l->what);
    unref(l->from);
    free(l);
}

span *segment_borrow(segment *s, const extent *what)
{
    bool is_within = what->slot < SEGMENT_EXTENTS && what->at % SEGMENT_PAGE == 0 &&
                     what->at < SEGMENT_HALF && what->bytes > 0 &&
                     what->bytes <= SEGMENT_HALF - what->at;
    if (!is_within)
        return NULL;
    loan *l = xmalloc(sizeof *l);
    *l = (loan){.from = s, .what = *what};
    l->span = (span){.data = s->theirs->data + what->at,
                     .bytes = what->bytes,
                     .writable = true,
                     .refs = 1,
                     .release = give_loan_back,
                     .owner = l};
    atomic_fetch_add(&s->refs, 1);
    return &l->span;
}
