/*
 * What a server does all day: pulls, pushes, cuts, histograms. What cannot be answered yet (a pull
 * of the next version) waits in a list per part.
 */
#include "ps/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"

#include <stdlib.h>

static void part_sent(void *data, void *hint)
{
    (void)data;
    block_drop(hint);
}

static void send_part(ps *s, const net_peer *to, int32_t part, int64_t version, block *held)
{
    net_buffer payload = {
        .data = held->data, .bytes = held->n * sizeof(float), .release = part_sent, .hint = held};
    ps_reply(s, to, (wire_head){.type = WIRE_PART, .part = part, .step = version}, &payload);
}

static void pull_wait(ps *s, const net_peer *from, int32_t part, int64_t version)
{
    pull_list *l = &s->pulls[part];
    for (size_t i = 0; i < l->n; i++)
        if (net_peer_equal(&l->at[i].peer, from)) {
            l->at[i].version = version;
            return;
        }
    if (l->n == WAITING_MAX)
        return;
    GROW(l->at, l->cap, l->n + 1);
    l->at[l->n++] = (waiting_pull){.peer = *from, .version = version, .since_us = clock_us()};
}

void ps_take_pull(ps *s, const net_message *m, const wire_head *h)
{
    if (!table_holds(s->table, h->part)) {
        ps_refuse(s, &m->from, h, E_PROTOCOL, "that part is not on this server");
        return;
    }
    block *held = table_weights(s->table, h->part, h->step);
    int64_t newest = table_version(s->table, h->part);
    wire_head gone = {.type = WIRE_GONE, .part = h->part, .step = newest, .tag = (uint64_t)h->step};
    if (held)
        send_part(s, &m->from, h->part, h->step, held);
    else if (h->step > newest)
        pull_wait(s, &m->from, h->part, h->step);
    else
        ps_reply(s, &m->from, gone, NULL);
}

status ps_on_applied(void *user, int32_t part, int64_t version, const float *grad, error *err)
{
    (void)err;
    ps *s = user;
    histograms_applied(s->histograms, s->table, part, version, grad);
    cuts_applied(s->cuts, s->table, part, version);
    pull_list *l = &s->pulls[part];
    for (size_t i = 0; i < l->n;) {
        block *held =
            l->at[i].version <= version ? table_weights(s->table, part, l->at[i].version) : NULL;
        if (!held) {
            i++;
            continue;
        }
        net_peer to = l->at[i].peer;
        int64_t wanted = l->at[i].version;
        l->at[i] = l->at[--l->n];
        send_part(s, &to, part, wanted, held);
    }
    return OK;
}

status ps_on_voted(void *user, int32_t part, int64_t step, double square_sum, error *err)
{
    (void)err;
    ps *s = user;
    Wire__Norm m = WIRE__NORM__INIT;
    m.square_sum = square_sum;
    ps_reply_proto(s, &s->master, (wire_head){.type = WIRE_NORM, .part = part, .step = step},
                   &m.base);
    return OK;
}

/* A received payload in a fold's clothes. */
typedef struct push_block {
    fold_block fold;
    net_payload payload;
} push_block;

static void push_release(fold_block *b)
{
    push_block *p = b->owner;
    net_payload_close(&p->payload);
    free(p);
}

status ps_take_push(ps *s, net_message *m, const wire_head *h, error *err)
{
    push_block *p = xmalloc(sizeof *p);
    net_payload_move(&p->payload, &m->payload);
    p->fold = (fold_block){
        .data = (float *)(uintptr_t)net_payload_data(&p->payload),
        .n = net_payload_bytes(&p->payload) / sizeof(float),
        .writable = !(h->flags & WIRE_LENT),
        .release = push_release,
        .owner = p,
    };
    push_result result;
    error wrong = ERROR_INIT;
    status st =
        table_push(s->table, h->part, h->step, h->slots, h->node, &p->fold, &result, &wrong);
    if (st != OK)
        return FAIL(err, st, "%s", wrong.text);
    if (result == PUSH_WRONG) {
        ps_refuse(s, &m->from, h, E_PROTOCOL, wrong.text);
        return OK;
    }
    ps_reply(s, &m->from,
             (wire_head){.type = WIRE_PUSHED, .part = h->part, .step = h->step, .node = h->node},
             NULL);
    return OK;
}

/* --- cuts and histograms --- */

status ps_take_cut(ps *s, const wire_head *h, const Wire__Cut *m, error *err)
{
    char *dir = s->dir ? jobdir_file(s->dir, "%s", m->dir) : spool_dir(s->spool, m->id);
    bool late = false;
    status st = fs_mkdirs(dir, err);
    if (st == OK)
        cuts_announce(s->cuts, s->table, m->id, h->step, dir, &late);
    free(dir);
    if (st != OK || !late)
        return st;
    Wire__CutLate answer = WIRE__CUT_LATE__INIT;
    answer.id = m->id;
    answer.newest = table_newest(s->table);
    ps_reply_proto(s, &s->master, (wire_head){.type = WIRE_CUT_LATE, .step = h->step},
                   &answer.base);
    return OK;
}

status ps_send_cut_results(ps *s, error *err)
{
    cut_result r;
    while (s->cuts && cuts_next_result(s->cuts, &r)) {
        if (r.status != OK)
            return FAIL(err, r.status, "write a checkpoint: %s", r.error.text);
        Wire__CutDone m = WIRE__CUT_DONE__INIT;
        m.id = r.id;
        m.file = r.file;
        m.bytes = r.bytes;
        m.sha256 = r.sha256;
        m.batches_applied = r.batches;
        m.spooled = s->spool != NULL;
        if (s->spool)
            spool_add(s->spool, r.id, r.file);
        ps_reply_proto(s, &s->master, (wire_head){.type = WIRE_CUT_DONE, .step = r.version},
                       &m.base);
    }
    return OK;
}

/* The next piece of a shard the master fetches. */
void ps_take_shard(ps *s, const net_message *from, const wire_head *h, const Wire__Shard *m)
{
    buf piece = BUF_INIT;
    error wrong = ERROR_INIT;
    status st = s->spool ? spool_read(s->spool, m->id, m->offset, &piece, &wrong)
                         : FAIL(&wrong, E_PROTOCOL, "shards of this server lie in the job dir");
    if (st != OK) {
        ps_refuse(s, &from->from, h, st, wrong.text);
        return;
    }
    Wire__Shard answer = WIRE__SHARD__INIT;
    answer.id = m->id;
    answer.offset = m->offset;
    answer.data.data = (uint8_t *)piece.data;
    answer.data.len = piece.size;
    ps_reply_proto(s, &from->from, (wire_head){.type = WIRE_SHARD, .step = h->step}, &answer.base);
    buf_fini(&piece);
}

void ps_send_histograms(ps *s)
{
    buf packed = BUF_INIT;
    int64_t version;
    while (s->histograms && histograms_next(s->histograms, &version, &packed)) {
        net_buffer payload = {.data = packed.data, .bytes = packed.size};
        ps_reply(s, &s->master, (wire_head){.type = WIRE_HISTOGRAM, .step = version}, &payload);
    }
    buf_fini(&packed);
}
