#include "master/publish.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/live/time_shares.h"
#include "common/parts/placement.h"
#include "common/store/eval_heartbeat.h"
#include "common/store/live_file.h"
#include "master/publish_status.h"
#include "master/state.h"
#include "metric/metric.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PUBLISH_US = 2 * SECOND_US, SCHEMA = 1 };

static const char *const phase_names[] = {
    [GATHER] = "gather", [SETUP] = "setup", [RUN] = "run", [DRAIN] = "drain", [OVER] = "over"};

/* --- small values --- */

/* Left out where it is not known. */
static void set_number(json_t *o, const char *key, double value)
{
    if (isfinite(value))
        json_object_set_new(o, key, json_real(value));
}

static void set_count(json_t *o, const char *key, int64_t value)
{
    json_object_set_new(o, key, json_integer(value));
}

static void set_word(json_t *o, const char *key, const char *word)
{
    if (word && *word)
        json_object_set_new(o, key, json_words(word));
}

/* Seconds since a moment of clock_us; left out where there was none. */
static void set_since(json_t *o, const char *key, int64_t since_us, int64_t now_us)
{
    if (since_us)
        set_number(o, key, (double)(now_us - since_us) / SECOND_US);
}

/* --- training --- */

static void tell_training(const master *m, int64_t now_us, json_t *o)
{
    const accounting_totals *t = accounting_totals_of(m->accounting);
    int64_t per_epoch = steps_per_epoch(&m->plan.steps);
    double left = (double)(m->plan.total - t->step) * (double)steps_mean_examples(&m->plan.steps);
    set_count(o, "step", t->step);
    set_count(o, "total_steps", m->plan.total);
    set_count(o, "steps_per_epoch", per_epoch);
    set_count(o, "examples", t->examples);
    set_count(o, "limit", m->views.limit);
    set_number(o, "wall_s", t->wall_s);
    set_number(o, "loss", metric_result(&t->last_step, "loss"));
    set_number(o, "accuracy", metric_result(&t->last_step, "accuracy"));
    set_number(o, "learning_rate", accounting_rate(m->accounting));
    if (m->phase == RUN)
        set_since(o, "step_since_s", m->waits.progress_us, now_us);
    if (t->examples_per_s > 0) {
        set_number(o, "usual_step_s", (double)steps_mean_examples(&m->plan.steps) / t->examples_per_s);
        set_number(o, "examples_per_s", t->examples_per_s);
        set_number(o, "eta_s", left / t->examples_per_s);
    }
}

static void tell_checkpoints(const master *m, json_t *o)
{
    set_count(o, "checkpoint", saver_last(m->saver));
    set_count(o, "best_step", results_best_step(m->results));
    json_object_set_new(o, "awaits_evaluation", json_boolean(results_waiting(m->results)));
}

/* --- tasks --- */

static const char *worker_state(const member *one)
{
    return one->refused   ? "refused"
           : !one->alive  ? "gone"
           : one->hangs   ? "hangs"
           : one->suspect ? "suspect"
           : one->whole   ? "at work"
                          : "joins";
}

static json_t *tell_worker(const master *m, const member *one, int64_t now_us)
{
    char name[TASK_NAME];
    json_t *o = json_object();
    set_word(o, "task", member_name(one, name));
    set_word(o, "state", worker_state(one));
    set_word(o, "host", one->host);
    set_count(o, "pid", (int64_t)one->pid);
    set_count(o, "lanes", one->lanes);
    set_count(o, "computing", one->computing);
    set_count(o, "holds", one->held < 0 ? -1 : one->held);
    set_since(o, "silent_s", one->heard_us, now_us);
    master_publish_status(m, member_task(one), now_us, o);
    return o;
}

static int by_task(const void *a, const void *b)
{
    const member *one = *(const member *const *)a, *other = *(const member *const *)b;
    if (one->trainer != other->trainer)
        return one->trainer ? -1 : 1;
    return (one->index > other->index) - (one->index < other->index);
}

/* In the order of their names, whoever came first. */
static json_t *tell_workers(const master *m, int64_t now_us)
{
    size_t n = m->members.n;
    const member **sorted = xcalloc(n + 1, sizeof *sorted);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        sorted[i] = &m->members.at[i];
    qsort(sorted, n, sizeof *sorted, by_task);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, tell_worker(m, sorted[i], now_us));
    free(sorted);
    return list;
}

static const char *server_state(const server *s)
{
    return s->refused                      ? "refused"
           : s->hangs                      ? "hangs"
           : !s->welcomed && !s->heard_us  ? "awaited"
           : !s->welcomed                  ? "gone"
           : s->ready                      ? "at work"
                                           : "loads";
}

/* The shards that it acts or stands by for. */
static json_t *shards_of(const master *m, int32_t who, bool acting)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < m->assign.n; i++) {
        const holders *h = &m->assign.shards[i];
        if ((acting ? h->acting : h->standby) == who)
            json_array_append_new(list, json_integer(i));
    }
    return list;
}

/* Each shard is one server's as dealt. */
static void deal_shards(const master *m, publishing *p)
{
    const flat *f = m->plan.declaration.flat;
    p->shard_of = xcalloc((size_t)f->n_parts + 1, sizeof *p->shard_of);
    p->shard_bytes = xcalloc((size_t)m->o->n_servers + 1, sizeof *p->shard_bytes);
    placement_deal(f, m->o->n_servers, p->shard_of);
    for (int32_t part = 0; part < f->n_parts; part++)
        p->shard_bytes[p->shard_of[part]] += flat_part_elements(f, part) * (int64_t)sizeof(float);
}

/* Of the weights in the shards that it acts or stands by for. */
static int64_t bytes_of(const master *m, int32_t who)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < m->assign.n; i++)
        if (m->assign.shards[i].acting == who || m->assign.shards[i].standby == who)
            sum += m->publishing.shard_bytes[i];
    return sum;
}

static json_t *tell_server(const master *m, int32_t i, int64_t now_us)
{
    const server *s = &m->servers[i];
    char name[TASK_NAME];
    json_t *o = json_object();
    set_word(o, "task", master_server_name(m, i, name));
    set_word(o, "state", server_state(s));
    set_word(o, "endpoint", m->o->servers[i]);
    set_word(o, "why", s->refused);
    json_object_set_new(o, "acts_for", shards_of(m, i, true));
    json_object_set_new(o, "stands_by_for", shards_of(m, i, false));
    if (m->publishing.shard_bytes)
        set_count(o, "bytes", bytes_of(m, i));
    set_since(o, "silent_s", s->heard_us, now_us);
    master_publish_status(m, (task){ROLE_PS, m->o->first_server + i}, now_us, o);
    return o;
}

static json_t *tell_servers(const master *m, int64_t now_us)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < m->o->n_servers; i++)
        json_array_append_new(list, tell_server(m, i, now_us));
    return list;
}

/* It talks to nobody, and shows in the job dir that it lives. */
static void look_for_evaluator(master *m, int64_t now_us)
{
    uint64_t trace = m->o->evaluates ? eval_heartbeat_trace(jobdir_path(m->o->dir)) : 0;
    bool is_first = m->publishing.evaluator_trace == 0; /* of an earlier start, maybe */
    if (trace == m->publishing.evaluator_trace)
        return;
    m->publishing.evaluator_trace = trace;
    if (!is_first)
        m->publishing.evaluator_moved_us = now_us;
}

static json_t *tell_evaluator(const master *m, int64_t now_us)
{
    char name[TASK_NAME];
    json_t *o = json_object();
    int64_t moved_us = m->publishing.evaluator_moved_us;
    set_word(o, "task", task_name((task){ROLE_EVALUATOR, 0}, name));
    set_word(o, "state", m->evaluator.hangs                             ? "hangs"
                         : !moved_us                                    ? "awaited"
                         : now_us - moved_us > EVALUATOR_SILENT_US      ? "gone"
                                                                        : "at work");
    set_since(o, "silent_s", moved_us, now_us);
    set_count(o, "evaluated", m->results ? results_judged_step(m->results) : -1);
    return o;
}

/* --- who computes what --- */

static json_t *name_of_lane(const view_lane *lane)
{
    char name[TASK_NAME];
    task of = {.role = lane->trainer ? ROLE_MASTER : ROLE_WORKER, .index = (int32_t)lane->worker};
    json_t *o = json_object();
    set_word(o, "task", task_name(of, name));
    set_count(o, "lane", lane->lane);
    return o;
}

static void tell_slots(const master *m, json_t *o)
{
    const view_lane *owners = m->views.deal ? deal_owners(m->views.deal) : NULL;
    json_t *list = json_array();
    for (int64_t i = 0; owners && i < m->plan.steps.per_step; i++) {
        json_t *slot = name_of_lane(&owners[i]);
        const view_lane *second = deal_hedge(m->views.deal, (uint32_t)i);
        if (second)
            json_object_set_new(slot, "hedged_by", name_of_lane(second));
        json_array_append_new(list, slot);
    }
    json_object_set_new(o, "slots", list);
}

/* --- all of it --- */

static void tell_waits(const master *m, phase at, int64_t now_us, json_t *o)
{
    wait_list waits = WAIT_LIST_INIT;
    json_t *list = json_array();
    if (master_disk_is_well(m) && at != OVER)
        master_list_waits(m, now_us, &waits);
    for (size_t i = 0; i < waits.n; i++)
        json_array_append_new(list, json_words(waits.at[i].text));
    json_object_set_new(o, "waits", list);
    set_count(o, "waits_left_out", (int64_t)waits.left_out);
    master_publish_awaits(m, &waits, now_us, o);
}

/* Of what it says of workers and of the master; left out where no lane has computed anything. */
static void set_lane_time(json_t *o)
{
    time_shares t;
    time_shares_of_job(o, &t);
    if (t.lane_s > 0)
        json_object_set_new(o, "lane_time", time_shares_json(&t));
}

json_t *master_lane_time(const master *m)
{
    json_t *o = json_pack("{s:o, s:o}", "master", master_publish_self(), "workers", tell_workers(m, clock_us()));
    set_lane_time(o);
    json_t *time = json_incref(json_object_get(o, "lane_time"));
    json_decref(o);
    return time;
}

static json_t *tell_job(const master *m, phase at, int64_t now_us)
{
    json_t *o = json_object();
    struct timespec now;
    char id[24];
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(id, sizeof id, "%016" PRIx64, m->era.identity.job_id);
    set_count(o, "schema", SCHEMA);
    set_number(o, "time", (double)now.tv_sec + (double)now.tv_nsec / 1e9);
    set_word(o, "job_id", id);
    set_count(o, "start", jobdir_starts(m->o->dir));
    set_word(o, "phase", phase_names[at]);
    set_count(o, "era", m->era.identity.era);
    if (m->accounting)
        tell_training(m, now_us, o);
    if (m->saver && m->results)
        tell_checkpoints(m, o);
    json_object_set_new(o, "master", master_publish_self());
    json_object_set_new(o, "workers", tell_workers(m, now_us));
    json_object_set_new(o, "servers", tell_servers(m, now_us));
    set_lane_time(o);
    if (m->o->evaluates)
        json_object_set_new(o, "evaluator", tell_evaluator(m, now_us));
    tell_slots(m, o);
    tell_waits(m, at, now_us, o);
    set_since(o, "disk_s", m->disk.since_us, now_us);
    if (m->disk.since_us)
        set_word(o, "disk", m->disk.why);
    return o;
}

static void publish(master *m, phase at, int64_t now_us)
{
    if (!m->publishing.shard_bytes && m->plan.declaration.flat)
        deal_shards(m, &m->publishing);
    look_for_evaluator(m, now_us);
    json_t *told = tell_job(m, at, now_us);
    m->publishing.last_us = now_us;
    live_file_write(m->o->dir, told);
    json_decref(told);
}

void master_publish(master *m, int64_t now_us)
{
    if (now_us - m->publishing.last_us < PUBLISH_US)
        return;
    publish(m, m->phase, now_us);
    if (m->timeline)
        timeline_flush(m->timeline);
}

void master_publish_end(master *m)
{
    publish(m, OVER, clock_us());
}

void master_publish_fini(master *m)
{
    free(m->publishing.shard_of);
    free(m->publishing.shard_bytes);
}
