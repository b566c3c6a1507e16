#include "common/live/recording.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* More than any recorder keeps. */
enum { MOST_EVENTS = 1 << 20, MOST_PEERS = 1 << 16, MOST_IN_PROGRESS = 1 << 16, MOST_BYTES = 64 << 20 };

static const char *const reason_words[][2] = {
#define X(id, word, words) {word, words},
    RECORDING_REASONS(X)
#undef X
};

const char *recording_reason_word(recording_reason r)
{
    return reason_words[r][0];
}

const char *recording_reason_words(recording_reason r)
{
    return reason_words[r][1];
}

uint32_t recording_kinds(void)
{
    uint32_t crc = 0;
    for (int i = 0; i < EVENT_COUNT; i++)
        crc = crc32c(crc, recorder_rows[i].id, strlen(recorder_rows[i].id) + 1);
    return crc;
}

static uint32_t checksum_of(const recording_head *h, const char *body, size_t bytes)
{
    recording_head unsealed = *h;
    unsealed.checksum = 0;
    return crc32c(crc32c(0, body, bytes), &unsealed, sizeof unsealed);
}

static size_t body_bytes(const recording_head *h)
{
    return ((size_t)h->n_in_progress + h->n_events) * sizeof(recording_event) + h->n_peers * sizeof(recording_peer);
}

/* 285 years, so that differences of such are numbers. */
static bool is_time(int64_t us)
{
    return us >= 0 && us <= INT64_C(1) << 53;
}

static bool is_known_task(int32_t of, int32_t index)
{
    return of >= 0 && of < ROLE_COUNT && index >= 0;
}

static status check_head(const recording_head *h, const char *body, size_t bytes, error *err)
{
    if (memcmp(h->magic, RECORDING_MAGIC, sizeof h->magic) != 0)
        return FAIL(err, E_DATA, "it does not begin as a flight recorder's file");
    if (h->version != RECORDING_VERSION)
        return FAIL(err, E_DATA, "it is of version %u, this program reads %d", h->version, RECORDING_VERSION);
    if (h->n_in_progress > MOST_IN_PROGRESS || h->n_peers > MOST_PEERS || h->n_events > MOST_EVENTS ||
        body_bytes(h) != bytes)
        return FAIL(err, E_DATA, "it has %zu bytes behind its head, which tells of %u events: it is cut off or damaged",
                    bytes, h->n_events);
    if (checksum_of(h, body, bytes) != h->checksum)
        return FAIL(err, E_DATA, "its checksum is not that of what is in it");
    if (h->kinds != recording_kinds())
        return FAIL(err, E_DATA, "another version of the program wrote it, whose events are others");
    if (h->reason >= RECORDING_REASON_COUNT || !is_known_task(h->role, h->index))
        return FAIL(err, E_DATA, "its head tells of no task, or no reason");
    if (!is_time(h->at_us) || !is_time(h->wall_us))
        return FAIL(err, E_DATA, "its head tells no time");
    return OK;
}

static status read_events(const char *from, size_t n, recorder_event **ret, error *err)
{
    recorder_event *events = xcalloc(n + 1, sizeof *events);
    for (size_t i = 0; i < n; i++) {
        recording_event e;
        memcpy(&e, from + i * sizeof e, sizeof e);
        if (e.kind >= EVENT_COUNT) {
            free(events);
            return FAIL(err, E_DATA, "event %zu is of kind %u, of %d", i, e.kind, (int)EVENT_COUNT);
        }
        if (!is_time(e.at_us)) {
            free(events);
            return FAIL(err, E_DATA, "event %zu has no time", i);
        }
        events[i] = (recorder_event){.at_us = e.at_us, .took_us = e.took_us, .step = e.step, .c = e.c, .a = e.a,
                                     .b = e.b, .kind = (recorder_kind)e.kind, .lane = e.lane};
    }
    *ret = events;
    return OK;
}

static status read_peers(const char *from, recording *r, error *err)
{
    size_t bytes = r->head.n_peers * sizeof *r->peers;
    r->peers = xcalloc(r->head.n_peers + (size_t)1, sizeof *r->peers);
    memcpy(r->peers, from, bytes);
    for (uint32_t i = 0; i < r->head.n_peers; i++)
        if (!is_known_task(r->peers[i].role, r->peers[i].index))
            return FAIL(err, E_DATA, "peer %u is no task", i);
    return OK;
}

status recording_parse(const void *data, size_t bytes, recording *ret, error *err)
{
    recording r = {.events = NULL};
    if (bytes < sizeof r.head)
        return FAIL(err, E_DATA, "it has %zu bytes, fewer than its head", bytes);
    memcpy(&r.head, data, sizeof r.head);
    const char *body = (const char *)data + sizeof r.head;
    TRY(check_head(&r.head, body, bytes - sizeof r.head, err));
    r.head.host[RECORDING_HOST - 1] = r.head.text[RECORDING_TEXT - 1] = '\0';
    const char *peers = body + r.head.n_in_progress * sizeof(recording_event);
    status st = read_events(body, r.head.n_in_progress, &r.in_progress, err);
    if (st == OK)
        st = read_peers(peers, &r, err);
    if (st == OK)
        st = read_events(peers + r.head.n_peers * sizeof(recording_peer), r.head.n_events, &r.events, err);
    if (st != OK)
        recording_fini(&r);
    else
        *ret = r;
    return st;
}

status recording_read(const char *path, recording *ret, error *err)
{
    buf text = BUF_INIT;
    status st = fs_read(path, MOST_BYTES, &text, err);
    if (st == OK)
        st = recording_parse(text.data, text.size, ret, err);
    if (st == E_DATA)
        error_prepend(err, "'%s'", path);
    buf_fini(&text);
    return st;
}

void recording_fini(recording *r)
{
    free(r->in_progress);
    free(r->events);
    free(r->peers);
    *r = (recording){.events = NULL};
}

bool recording_peer_of(const recording *r, uint32_t peer, task *ret)
{
    for (uint32_t i = r->head.n_peers; i-- > 0;)
        if (r->peers[i].peer == peer) {
            *ret = (task){(role)r->peers[i].role, r->peers[i].index};
            return true;
        }
    return false;
}
