#include "ps/replicator.h"

#include "common/base/alloc.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/log.h"

#include <stdlib.h>
#include <string.h>

enum { COPIES_AHEAD = 2 };

typedef enum copy_state {
    COPY_NONE, /* no standby: every version may be answered */
    COPY_DUE,  /* there is one, and it holds nothing: the same */
    COPY_SENT, /* on its way; versions wait */
    COPY_HELD,
} copy_state;

/* The sum of a step that the standby has not acknowledged. */
typedef struct owed_sum {
    span *sum;          /* held; NULL: nothing is owed */
    int64_t step;
    uint32_t n_slots;
    uint64_t verdict;   /* on the step before, packed, for a server that has not heard it; 0: none */
} owed_sum;

typedef struct copy {
    copy_state state;
    bool is_under_way;  /* COPY_SENT, on this connection */
    int64_t answerable; /* from COPY_SENT on: highest version that may be answered */
    int64_t version;    /* COPY_SENT: of its vectors */
    uint64_t missing;   /* of those, not acknowledged, as bits */
    owed_sum root;
    backoff backoff;  /* with what was sent and is not acknowledged */
} copy;

struct replicator {
    net *net;
    const buf *hello;
    replicator_hooks hooks;
    replicator_era era;
    holders *shards;      /* [n] as the era began */
    copy *copies;         /* [n_parts] */
    standby_link *links;  /* [n] */
    net_socket **sockets; /* [n] the links', for polling */
    bool *is_told;        /* [n] shards that hooks.backed has heard of */
    int64_t recorded;       /* the master's accounts are complete below */
};

replicator *replicator_create(net *n, const buf *hello, const replicator_hooks *hooks)
{
    replicator *m = xcalloc(1, sizeof *m);
    m->net = n;
    m->hello = hello;
    m->hooks = *hooks;
    return m;
}

static void copy_forget_root(copy *c)
{
    span_drop(span_move(&c->root.sum));
}

/* --- sending --- */

static int32_t standby_of(const replicator *m, int32_t part)
{
    return m->shards[m->era.placement[part]].standby;
}

static void send_root(replicator *m, int32_t part)
{
    const copy *c = &m->copies[part];
    const standby_link *l = &m->links[standby_of(m, part)];
    if (!l->is_open)
        return;
    if (part == flat_reporting_part(m->era.flat))
        m->hooks.sending(m->hooks.user, c->root.step, c->root.n_slots, l);
    wire_head h = {.type = WIRE_PUSH,
                   .part = part,
                   .step = c->root.step,
                   .slots = c->root.n_slots,
                   .node = {.level = tree_root_level(c->root.n_slots)}};
    wire_set_push_verdict(&h, c->root.verdict);
    standby_link_say(l, h, span_hold(c->root.sum));
}

/* All vectors of a part as they are now, and the sum that is not acknowledged behind them. */
static void send_copy(replicator *m, int32_t part)
{
    copy *c = &m->copies[part];
    const standby_link *l = &m->links[standby_of(m, part)];
    uint32_t n = table_vectors(m->era.table, part);
    c->version = table_version(m->era.table, part);
    if (c->state == COPY_DUE)
        c->answerable = c->version;
    c->state = COPY_SENT;
    c->is_under_way = true;
    c->missing = ((uint64_t)1 << n) - 1;
    for (uint32_t row = 0; row < n; row++) {
        loss_scale scale;
        span *vector = table_vector(m->era.table, part, row, &scale);
        wire_head h = {.type = WIRE_STATE, .part = part};
        wire_set_state_version(&h, c->version);
        wire_set_state_row(&h, row);
        wire_set_state_rows(&h, n);
        wire_set_state_scale(&h, scale);
        standby_link_say(l, h, vector);
    }
    if (c->root.sum)
        send_root(m, part);
}

/* The next copies go, a few at a time, so that sums of other parts are not kept waiting. */
static void copies_flow(replicator *m, int32_t server)
{
    int ahead = 0;
    for (int32_t p = 0; p < m->era.flat->n_parts; p++)
        ahead += standby_of(m, p) == server && m->copies[p].is_under_way;
    for (int32_t p = 0; p < m->era.flat->n_parts && ahead < COPIES_AHEAD; p++) {
        const copy *c = &m->copies[p];
        bool is_next = c->state == COPY_DUE || (c->state == COPY_SENT && !c->is_under_way);
        if (standby_of(m, p) != server || !is_next ||
            (table_is_voting(m->era.table, p) && !c->root.sum))
            continue;
        backoff_begin(&m->copies[p].backoff, clock_us());
        send_copy(m, p);
        ahead++;
    }
}

void replicator_summed(replicator *m, int32_t part, int64_t step, uint32_t n_slots, span *root)
{
    copy *c = &m->copies[part];
    if (c->state < COPY_SENT)
        return;
    copy_forget_root(c);
    c->root = (owed_sum){.sum = span_hold(root), .step = step, .n_slots = n_slots};
    verdict v;
    if (table_last_verdict(m->era.table, step - 1, &v))
        c->root.verdict = verdict_pack(v);
    backoff_begin(&c->backoff, clock_us());
    if (c->state == COPY_HELD || c->is_under_way)
        send_root(m, part);
}

int64_t replicator_visible(const replicator *m, int32_t part, int64_t applied)
{
    const copy *c = m->copies ? &m->copies[part] : NULL;
    return c && c->state >= COPY_SENT && c->answerable < applied ? c->answerable : applied;
}

int32_t replicator_awaits(const replicator *m, int32_t part)
{
    const copy *c = m->copies ? &m->copies[part] : NULL;
    return c && (c->root.sum || c->missing) ? standby_of(m, part) : HOLDER_NONE;
}

/* --- eras --- */

static void forget_parts(replicator *m)
{
    for (int32_t p = 0; m->copies && p < m->era.flat->n_parts; p++)
        copy_forget_root(&m->copies[p]);
    free(m->copies);
    m->copies = NULL;
}

static void forget_links(replicator *m)
{
    for (int32_t i = 0; i < m->era.n; i++)
        standby_link_fini(&m->links[i]);
    free(m->links);
    free(m->sockets);
    free(m->shards);
    free(m->is_told);
    m->links = NULL;
    m->sockets = NULL;
    m->shards = NULL;
    m->is_told = NULL;
    m->era.n = 0;
}

void replicator_destroy(replicator **m)
{
    if (!m || !*m)
        return;
    forget_parts(*m);
    forget_links(*m);
    free(*m);
    *m = NULL;
}

/* All copies are complete, and what was measured before them, which is not copied, is in the accounts. */
static bool is_backed(const replicator *m, int32_t shard)
{
    int32_t reporting = flat_reporting_part(m->era.flat);
    for (int32_t p = 0; p < m->era.flat->n_parts; p++)
        if (m->era.placement[p] == shard &&
            (m->copies[p].state != COPY_HELD ||
             (p == reporting && m->copies[p].version > m->recorded)))
            return false;
    return true;
}

static bool has_standby(const replicator *m, int32_t shard)
{
    return m->shards[shard].acting == m->era.self && m->shards[shard].standby != HOLDER_NONE;
}

static void tell_backed(replicator *m, int32_t shard)
{
    if (!has_standby(m, shard) || m->shards[shard].is_backed || m->is_told[shard] ||
        !is_backed(m, shard))
        return;
    m->is_told[shard] = true;
    standby_link_trust(&m->links[m->shards[shard].standby]);
    m->hooks.backed(m->hooks.user, shard);
}

void replicator_recorded(replicator *m, int64_t step)
{
    m->recorded = step > m->recorded ? step : m->recorded;
    for (int32_t i = 0; m->copies && i < m->era.n; i++)
        tell_backed(m, i);
}

void replicator_say_backed(const replicator *m)
{
    for (int32_t i = 0; i < m->era.n; i++)
        if (m->is_told[i])
            m->hooks.backed(m->hooks.user, i);
}

/* The part's copy as the era begins. What an earlier era left unacknowledged for the same standby
 * is owed still; `before` is its standby then. */
static void replicator_copy_begin(replicator *m, int32_t part, int32_t before)
{
    copy *c = &m->copies[part];
    int32_t shard = m->era.placement[part];
    const holders *h = &m->shards[shard];
    if (!has_standby(m, shard) || h->standby != before || !h->is_backed)
        copy_forget_root(c);
    if (!has_standby(m, shard)) {
        *c = (copy){.state = COPY_NONE};
    } else if (!h->is_backed) {
        *c = (copy){.state = COPY_DUE};
    } else if (h->standby != before || c->state < COPY_SENT) {
        /* it acted before us, so it holds all that we hold, and a sum that waits for the verdict */
        *c = (copy){.state = COPY_HELD,
                    .answerable = table_version(m->era.table, part) +
                                  table_is_voting(m->era.table, part)};
    } else {
        c->state = COPY_HELD;
        c->missing = 0;
        c->is_under_way = false;
    }
    backoff_begin(&c->backoff, clock_us());
}

/* A standby that is trusted to hold a copy is waited for, whatever it was like before. */
static status link_begin(replicator *m, int32_t server, const char *endpoint, error *err)
{
    standby_link *l = &m->links[server];
    bool is_needed = false;
    for (int32_t i = 0; i < m->era.n; i++) {
        if (!has_standby(m, i) || m->shards[i].standby != server)
            continue;
        is_needed = true;
        if (m->shards[i].is_backed)
            standby_link_trust(l);
    }
    l->identity = m->era.identity;
    TRY(standby_link_begin(l, is_needed, endpoint, err));
    m->sockets[server] = l->socket;
    return OK;
}

static void replicator_make_room(replicator *m, const replicator_era *era)
{
    size_t n = (size_t)era->n;
    m->links = xcalloc(n, sizeof *m->links);
    m->sockets = xcalloc(n, sizeof(net_socket *));
    m->is_told = xcalloc(n, sizeof *m->is_told);
    m->shards = xcalloc(n, sizeof *m->shards);
    for (size_t i = 0; i < n; i++)
        m->links[i] = (standby_link){.net = m->net, .hello = m->hello, .index = era->first_index + (int32_t)i};
    for (size_t i = 0; i < n; i++)
        m->shards[i] = (holders){HOLDER_NONE, HOLDER_NONE, false};
}

status replicator_begin(replicator *m, const replicator_era *era, error *err)
{
    if (!era->keeps)
        forget_parts(m);
    if (era->n != m->era.n) {
        forget_links(m);
        replicator_make_room(m, era);
    }
    holders *before = m->shards;
    m->era = *era;
    m->era.addresses = NULL;
    m->shards = xcalloc((size_t)era->n, sizeof *m->shards);
    memcpy(m->shards, era->shards, (size_t)era->n * sizeof *m->shards);
    memset(m->is_told, 0, (size_t)era->n * sizeof *m->is_told);
    if (!m->copies)
        m->copies = xcalloc((size_t)era->flat->n_parts, sizeof *m->copies);
    for (int32_t p = 0; p < era->flat->n_parts; p++) {
        const holders *h = &before[era->placement[p]];
        replicator_copy_begin(m, p, h->acting == era->self ? h->standby : HOLDER_NONE);
    }
    free(before);
    for (int32_t i = 0; i < era->n; i++) {
        TRY(link_begin(m, i, era->addresses[i], err));
        tell_backed(m, i);
    }
    return OK;
}

/* --- hearing --- */

/* The standby is in our era: everything it owes us an acknowledgement for goes to it. */
static void link_open(replicator *m, int32_t server)
{
    m->links[server].is_open = true;
    for (int32_t p = 0; p < m->era.flat->n_parts; p++) {
        copy *c = &m->copies[p];
        if (standby_of(m, p) != server)
            continue;
        c->is_under_way = false;
        backoff_begin(&c->backoff, clock_us());
        if (c->root.sum && c->state == COPY_HELD)
            send_root(m, p);
    }
    copies_flow(m, server);
}

static void link_close(replicator *m, int32_t server)
{
    m->links[server].is_open = false;
    for (int32_t p = 0; p < m->era.flat->n_parts; p++)
        if (standby_of(m, p) == server)
            m->copies[p].is_under_way = false;
}

static void replicator_take_welcome(replicator *m, int32_t server, const net_message *message)
{
    ProtobufCMessage *p = NULL;
    if (wire_unpack(WIRE_WELCOME, span_data(message->payload),
                    span_bytes(message->payload), &p, NULL) != OK)
        return;
    const Wire__Welcome *w = (const Wire__Welcome *)p;
    const standby_link *l = &m->links[server];
    if (w->era == m->era.identity.era && !l->is_open && !standby_link_rests(l))
        link_open(m, server);
    wire_free(p);
}

static void take_copied(replicator *m, int32_t part, const wire_head *h)
{
    copy *c = &m->copies[part];
    int64_t row = wire_pushed_row(h);
    if (c->state != COPY_SENT || h->step != c->version || row >= 64)
        return;
    c->missing &= ~((uint64_t)1 << row);
    if (c->missing)
        return;
    c->state = COPY_HELD;
    c->is_under_way = false;
    if (c->root.sum && c->root.step < c->version)
        copy_forget_root(c);
    if (c->answerable < c->version) {
        c->answerable = c->version;
        m->hooks.visible(m->hooks.user, part);
    }
    tell_backed(m, m->era.placement[part]);
    copies_flow(m, standby_of(m, part));
}

static void take_pushed(replicator *m, int32_t server, const wire_head *h)
{
    if (h->part >= m->era.flat->n_parts || standby_of(m, h->part) != server)
        return;
    standby_link_answered(&m->links[server]);
    copy *c = &m->copies[h->part];
    if (wire_pushed_row(h) >= 0) {
        take_copied(m, h->part, h);
        return;
    }
    if (!c->root.sum || h->step != c->root.step)
        return;
    copy_forget_root(c);
    c->answerable = h->step + 1;
    m->hooks.visible(m->hooks.user, h->part);
}

static void replicator_take(replicator *m, int32_t server, const net_message *message)
{
    wire_head h;
    if (wire_head_decode(message->head, span_bytes(message->payload), &h, NULL) != OK ||
        !wire_may_say(h.type, ROLE_PS, ROLE_PS))
        return;
    if (h.type == WIRE_WELCOME)
        replicator_take_welcome(m, server, message);
    else if (h.type == WIRE_REFUSED)
        link_close(m, server); /* another era, or its copy is not complete: tick asks again */
    else if (h.type == WIRE_PUSHED && h.job_id == m->era.identity.job_id &&
             h.era == m->era.identity.era)
        take_pushed(m, server, &h);
}

static status replicator_redial(replicator *m, int32_t server, error *err)
{
    link_close(m, server);
    m->sockets[server] = NULL;
    TRY(standby_link_redial(&m->links[server], err));
    m->sockets[server] = m->links[server].socket;
    return OK;
}

static status serve_link(replicator *m, int32_t server, error *err)
{
    const standby_link *l = &m->links[server];
    net_event event;
    while (net_next_event(l->socket, &event)) {
        if (event.kind == NET_DOWN)
            return replicator_redial(m, server, err);
        standby_link_say_hello(l);
    }
    net_message message;
    while (net_receive(l->socket, &message)) {
        replicator_take(m, server, &message);
        span_drop(message.payload);
    }
    return OK;
}

status replicator_serve(replicator *m, error *err)
{
    for (int32_t i = 0; i < m->era.n; i++)
        if (m->links[i].socket)
            TRY(serve_link(m, i, err));
    return OK;
}

net_socket *const *replicator_sockets(const replicator *m, size_t *ret_n)
{
    *ret_n = (size_t)m->era.n;
    return m->sockets;
}

static void replicator_say_again(replicator *m, int32_t part, int64_t now_us)
{
    copy *c = &m->copies[part];
    bool is_owed = c->root.sum || c->is_under_way;
    if (!is_owed || !backoff_expired(&c->backoff, now_us))
        return;
    if (c->is_under_way)
        send_copy(m, part);
    else if (c->state == COPY_HELD)
        send_root(m, part);
}

/* What waits for a standby that does not answer waits until the master has heard of it. */
static void tell_stuck(replicator *m, int32_t server, int64_t now_us)
{
    bool owes = false;
    for (int32_t p = 0; p < m->era.flat->n_parts; p++)
        owes |= replicator_awaits(m, p) == server;
    if (!standby_link_is_stuck(&m->links[server], owes, m->era.limit_us, now_us))
        return;
    for (int32_t i = 0; i < m->era.n; i++)
        if (has_standby(m, i) && m->shards[i].standby == server) {
            m->hooks.stuck(m->hooks.user, i);
            return;
        }
}

void replicator_tick(replicator *m, int64_t now_us)
{
    for (int32_t i = 0; i < m->era.n; i++) {
        const standby_link *l = &m->links[i];
        if (!l->socket)
            continue;
        if (l->is_open)
            copies_flow(m, i);
        else
            standby_link_say_hello(l);
        tell_stuck(m, i, now_us);
    }
    for (int32_t p = 0; m->copies && p < m->era.flat->n_parts; p++)
        replicator_say_again(m, p, now_us);
}
