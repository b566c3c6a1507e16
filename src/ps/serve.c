/*
 * What a server does all day: pulls, pushes, cuts, histograms. What cannot be answered yet (a pull
 * of the next version) waits in a list per part.
 */
#include "ps/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/live/counters.h"
#include "common/live/durations.h"
#include "common/live/recorder.h"

#include <stdlib.h>

/* Held for the caller, if it is here and may be answered. */
static span *answerable(ps *s, int32_t part, int64_t version)
{
    bool is_live = !s->plan.declaration.flat->parts[part].frozen;
    return is_live && version > ps_visible(s, part) ? NULL : table_weights(s->table, part, version);
}

/* Where units come in any order, what a pull waits for is those below its floor. */
static pull_time time_of(const ps *s, const waiting_pull *w, int32_t part, int64_t version)
{
    if (!s->plan.schedule.in_order)
        return (pull_time){.lanes_us = w->waited ? clock_us() - w->since_us : 0, .server_us = w->unread_us};
    if (version != table_version(s->table, part))
        return (pull_time){.server_us = w->unread_us};
    return part_times_pull(&s->times, part, w->since_us, w->unread_us);
}

/* PART or GONE for a unit; false: the version is not there yet, all units below the floor are not in it, or
 * the peer has no room for it. */
static bool answer_pull(ps *s, const waiting_pull *w, int32_t part)
{
    const net_peer *to = &w->peer;
    int64_t unit = w->version, newest = ps_visible(s, part);
    int64_t version = schedule_answer(&s->plan.schedule, unit, newest);
    if (!table_has_floor(s->table, part, w->floor))
        return false;
    span *held = answerable(s, part, version);
    if (!held && version > newest)
        return false;
    if (!held) {
        wire_head gone = {.type = WIRE_GONE, .part = part};
        wire_set_gone_newest(&gone, newest);
        wire_set_gone_asked(&gone, version);
        ps_reply(s, to, gone, NULL);
        return true;
    }
    if (!outbox_has_room(s->outbox, to, held->bytes)) {
        span_drop(held);
        return false;
    }
    span *weights = outbox_add(s->outbox, to, (outbox_label){part, unit}, held);
    pull_time time = time_of(s, w, part, version);
    wire_head head = {.type = WIRE_PART, .part = part};
    wire_set_part_version(&head, version);
    wire_set_part_lanes_us(&head, part_times_head(time.lanes_us));
    wire_set_part_server_us(&head, part_times_head(time.server_us));
    if (s->plan.schedule.in_order)
        wire_set_part_scale(&head, table_scale(s->table, part, version));
    else
        wire_set_part_batch(&head, unit);
    counter_add(COUNTER_PS_PULLS, 1);
    ps_reply(s, to, head, weights);
    return true;
}

/* A repeated one is the same, and waits since the first came. */
static void pull_wait(ps *s, const waiting_pull *w, const wire_head *h)
{
    pull_list *l = &s->pulls[h->part];
    for (size_t i = 0; i < l->n; i++)
        if (net_peer_equal(&l->at[i].peer, &w->peer)) {
            if (l->at[i].version != w->version)
                l->at[i] = *w;
            l->at[i].floor = w->floor;
            l->at[i].waited = true;
            return;
        }
    if (l->n == WAITING_MAX) {
        ps_refuse(s, &w->peer, h, OK, "too many pulls of that part wait already");
        return;
    }
    GROW(l->at, l->cap, l->n + 1);
    l->at[l->n] = *w;
    l->at[l->n++].waited = true;
}

void ps_take_pull(ps *s, const net_message *m, const wire_head *h)
{
    if (!ps_acts_for(s, h->part)) {
        ps_refuse(s, &m->from, h, E_PROTOCOL, "that part is not on this server");
        return;
    }
    /* on a slow link the answer may take longer than the asking worker is patient */
    int64_t now = clock_us();
    waiting_pull w = {.peer = m->from,
                      .connection = m->connection,
                      .version = wire_pull_unit(h),
                      .floor = wire_pull_floor(h),
                      .since_us = now,
                      .unread_us = part_times_unread(&s->times, now)};
    bool is_answered =
        h->flags & WIRE_AGAIN && outbox_has(s->outbox, &m->from, (outbox_label){h->part, w.version});
    if (is_answered)
        return;
    if (answer_pull(s, &w, h->part))
        duration_note(DURATION_PS_PULL, 0);
    else
        pull_wait(s, &w, h);
}

static void answer_waiting(ps *s, int32_t part)
{
    pull_list *l = &s->pulls[part];
    for (size_t i = 0; i < l->n;) {
        if (!answer_pull(s, &l->at[i], part)) {
            i++;
            continue;
        }
        int64_t now = clock_us();
        RECORDER_NOTE(.kind = EVENT_PULL_WAITED, .lane = -1, .step = l->at[i].version, .a = part,
                      .b = (int32_t)net_peer_number(s->socket, &l->at[i].peer), .at_us = now,
                      .took_us = now - l->at[i].since_us);
        duration_note(DURATION_PS_PULL, now - l->at[i].since_us);
        l->at[i] = l->at[--l->n];
    }
}

static void note_visible(ps *s, int32_t part)
{
    if (ps_visible(s, part) == table_version(s->table, part))
        part_times_visible(&s->times, part, clock_us());
}

void ps_on_visible(void *user, int32_t part)
{
    ps *s = user;
    note_visible(s, part);
    answer_waiting(s, part);
    table_say_vote(s->table, part);
}

void ps_answer_pulls(ps *s)
{
    bool news = outbox_has_news(s->outbox);
    for (int32_t p = 0; news && s->pulls && p < s->plan.declaration.flat->n_parts; p++)
        answer_waiting(s, p);
}

void ps_drop_pulls(ps *s, int connection)
{
    for (int32_t p = 0; s->pulls && p < s->plan.declaration.flat->n_parts; p++) {
        pull_list *l = &s->pulls[p];
        for (size_t i = 0; i < l->n;) {
            if (l->at[i].connection == connection)
                l->at[i] = l->at[--l->n];
            else
                i++;
        }
    }
}

status ps_on_applied(void *user, int32_t part, int64_t version, const float *grad, error *err)
{
    ps *s = user;
    counter_add(COUNTER_PS_UPDATES, 1);
    TRY(ps_note_applied(s, part, version, err));
    cuts_applied(s->cuts, s->table, part, version);
    int64_t next = cuts_next(s->cuts);
    if (next >= 0 && next - version <= PREALLOCATE_AHEAD)
        preallocator_order(s->preallocator, s->table, s->plan.declaration.flat->n_parts);
    note_visible(s, part);
    answer_waiting(s, part);
    return histograms_applied(s->histograms, s->table, part, version, grad, err); /* nobody waits for them */
}

void ps_on_voted(void *user, int32_t part, int64_t step, double square_sum)
{
    ps *s = user;
    if (!ps_acts_for(s, part))
        return; /* who acts for it votes */
    /* the verdict makes a version that the standby must be able to make too */
    if (s->standbys.replicator && replicator_visible(s->standbys.replicator, part, step + 1) <= step)
        return;
    Wire__Norm m = WIRE__NORM__INIT;
    m.square_sum = square_sum;
    m.loss_scale = loss_scale_pack(table_scale(s->table, part, step));
    ps_reply_proto(s, &s->chief.peer, (wire_head){.type = WIRE_NORM, .part = part, .step = step},
                   &m.base);
}

status ps_take_push(ps *s, net_message *m, const wire_head *h, error *err)
{
    const char *refusal = ps_push_refusal(s, m, h);
    if (refusal) {
        ps_refuse(s, &m->from, h, E_PROTOCOL, refusal);
        return OK;
    }
    uint64_t before = ps_is_peer(s, &m->from) ? wire_push_verdict(h) : 0;
    if (before && !verdict_is_packed(before)) {
        ps_refuse(s, &m->from, h, E_PROTOCOL, "its tag is no verdict");
        return OK;
    }
    part_times_push(&s->times, ps_is_peer(s, &m->from) ? 0 : wire_push_wire_us(h), clock_us());
    if (before)
        TRY(table_verdict_on(s->table, h->part, h->step - 1, verdict_unpack(before), err));
    if (ps_lacks_reports(s, h)) {
        LOG_D("NO_REPORT", "step=%lld level=%u index=%u: pushed without what was measured",
              (long long)h->step, h->node.level, h->node.index);
        return OK;
    }
    m->payload->writable = !(h->flags & WIRE_LENT);
    push_result result;
    error wrong = ERROR_INIT;
    status st = table_push(s->table, h->part, h->step, h->slots, h->node, span_move(&m->payload),
                           &result, &wrong);
    if (st != OK)
        return FAIL(err, st, "%s", wrong.text);
    if (result == PUSH_WRONG) {
        ps_refuse(s, &m->from, h, E_PROTOCOL, wrong.text);
        return OK;
    }
    counter_add(COUNTER_PS_PUSHES, 1);
    wire_head pushed = {.type = WIRE_PUSHED, .part = h->part, .step = h->step, .node = h->node};
    wire_set_pushed_server_us(&pushed, part_times_head(part_times_unread(&s->times, clock_us())));
    ps_reply(s, &m->from, pushed, NULL);
    return OK;
}

/* --- cuts and histograms --- */

void ps_take_cut(ps *s, const wire_head *h, const Wire__Cut *m)
{
    char *dir = s->dir ? jobdir_file(s->dir, "%s", m->dir) : spool_dir(s->spool, m->id);
    bool late = false;
    cut_call call = {.id = m->id,
                     .version = wire_cut_version(h),
                     .dir = dir,
                     .replaces = m->replaces,
                     .saved = m->saved,
                     .must = m->must};
    cuts_announce(s->cuts, s->table, &call, &late);
    free(dir);
    if (s->spool)
        spool_saved(s->spool, m->saved);
    if (!late)
        return;
    Wire__CutLate answer = WIRE__CUT_LATE__INIT;
    answer.id = m->id;
    answer.newest = table_newest(s->table);
    wire_head to_master = {.type = WIRE_CUT_LATE};
    wire_set_cut_late_version(&to_master, call.version);
    ps_reply_proto(s, &s->chief.peer, to_master, &answer.base);
}

/* A shard that could not be written is the master's to judge: the job itself is well. */
void ps_send_cut_results(ps *s)
{
    if (s->preallocator)
        preallocator_take(s->preallocator, s->table);
    cut_result r;
    while (s->cuts && cuts_next_result(s->cuts, &r)) {
        Wire__CutDone m = WIRE__CUT_DONE__INIT;
        s->has_cut = true;
        m.id = r.id;
        m.shard = (uint32_t)r.shard;
        m.file = r.file;
        m.bytes = r.bytes;
        m.sha256 = r.sha256;
        m.batches_applied = r.batches;
        m.loss_scale = loss_scale_pack(r.scale);
        m.spooled = s->spool != NULL;
        if (s->spool && r.status == OK)
            r.status = spool_add(s->spool, &(spool_shard){r.id, r.shard, r.version, r.file},
                                 &r.error);
        if (r.status != OK)
            m.failure = r.error.text;
        wire_head h = {.type = WIRE_CUT_DONE};
        wire_set_cut_done_version(&h, r.version);
        ps_reply_proto(s, &s->chief.peer, h, &m.base);
    }
}

/* The next piece of a shard the master fetches. */
void ps_take_shard(ps *s, const net_message *from, const wire_head *h, const Wire__Shard *m)
{
    buf piece = BUF_INIT;
    error wrong = ERROR_INIT;
    status st = s->spool ? spool_read(s->spool, m->id, (int32_t)m->shard, m->offset, &piece, &wrong)
                         : FAIL(&wrong, E_PROTOCOL, "shards of this server lie in the job dir");
    if (st != OK) {
        ps_refuse(s, &from->from, h, st, wrong.text);
        return;
    }
    Wire__Shard answer = WIRE__SHARD__INIT;
    answer.id = m->id;
    answer.shard = m->shard;
    answer.offset = m->offset;
    answer.data.data = (uint8_t *)piece.data;
    answer.data.len = piece.size;
    ps_reply_proto(s, &from->from, (wire_head){.type = WIRE_SHARD}, &answer.base);
    buf_fini(&piece);
}

void ps_send_histograms(ps *s)
{
    buf packed = BUF_INIT;
    int64_t version;
    while (s->histograms && histograms_next(s->histograms, &version, &packed)) {
        span payload = span_for_call(packed.data, packed.size);
        wire_head h = {.type = WIRE_HISTOGRAM};
        wire_set_histogram_version(&h, version);
        ps_reply(s, &s->chief.peer, h, &payload);
    }
    buf_fini(&packed);
}
