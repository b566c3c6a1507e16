/*
 * Workers that come: one that fits the job is welcomed and declares what it trains, another is refused by
 * name, and the job goes on with the others. Once all are there that a start waits for, the servers are set up.
 */
#include "master/state.h"

#include "common/base/clock.h"
#include "common/live/recorder.h"
#include "common/wire/hello.h"
#include "metric/training_metrics.h"

#include <string.h>

static void master_refuse(master *m, const net_peer *to, status st, const error *why)
{
    Wire__Refused r = WIRE__REFUSED__INIT;
    r.status = st;
    r.text = (char *)(uintptr_t)why->text;
    unsigned others = 0;
    bool speaks = log_pace_allows(&m->refused_pace, clock_us(), &others);
    if (others)
        LOG_W("REFUSED", "%u others since", others);
    if (speaks) {
        LOG_W("REFUSED", "%s", why->text);
        master_tell(m, TIMELINE_REFUSED, NULL, "a worker is refused: %s", why->text);
    }
    master_send(m->listener, to, master_head(m, WIRE_REFUSED), &r.base);
}

static void refuse_member(master *m, member *one, const error *why)
{
    master_refuse(m, &one->peer, why->code, why);
    one->refused = true;
    one->alive = one->whole = false;
    m->views.is_due |= m->phase >= RUN;
}

/* What it declares is heard once it is known whose files are the job's. */
static void admission_welcome(master *m, const member *one)
{
    Wire__Welcome w = WIRE__WELCOME__INIT;
    w.incarnation = one->incarnation;
    w.declare = !one->declared && (m->files.settled || !one->files);
    w.dir_token = (char *)(uintptr_t)jobdir_token(m->o->dir);
    master_send(m->listener, &one->peer, master_head(m, WIRE_WELCOME), &w.base);
}

/* --- when all are there --- */

static bool has_all_servers(const master *m)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (!m->servers[i].welcomed)
            return false;
    return true;
}

bool master_all_workers(const master *m)
{
    int32_t wanted = m->o->n_workers > 0 ? m->o->n_workers : 1;
    return (int32_t)members_alive(&m->members) >= wanted;
}

static double waited_s(const master *m)
{
    return (double)(clock_us() - m->waits.begun_us) / SECOND_US;
}

/* Who reads its data is on its way: the time begins anew with all that is read. */
static bool is_in_time(const master *m)
{
    return reading_workers_absence_s(&m->reading, m->waits.begun_us, clock_us()) <
           master_option(m, "distributed.start_timeout");
}

/* A first start waits for all, so that K counts them; a resumed job knows its K and waits for one. */
static bool may_begin(const master *m)
{
    bool is_patient = is_in_time(m) && !jobdir_batches_per_step(m->o->dir);
    return master_all_workers(m) || (!is_patient && waited_s(m) >= 5 && members_alive(&m->members));
}

/* Whose files are the job's, and who is refused for others. */
static status settle_files(master *m, error *err)
{
    if (m->files.settled || m->phase != GATHER || !may_begin(m))
        return OK;
    TRY(master_settle_files(m, err));
    for (size_t i = 0; i < m->members.n; i++) {
        member *one = &m->members.at[i];
        error why = ERROR_INIT;
        if (one->alive && master_check_member(m, one, &why) != OK)
            refuse_member(m, one, &why);
        else if (one->alive && !one->declared)
            admission_welcome(m, one);
    }
    return OK;
}

status master_try_setup(master *m, error *err)
{
    bool suffice = has_all_servers(m) || master_can_spare(m, waited_s(m));
    TRY(settle_files(m, err));
    if (m->phase != GATHER || !m->plan.declaration.flat || !suffice)
        return OK;
    if (is_in_time(m) && !members_all_declared(&m->members))
        return OK; /* one of them may see other data */
    return may_begin(m) ? master_begin_setup(m, err) : OK;
}

/* --- hello --- */

static status check_newcomer(const master *m, task who, const Wire__Hello *hello, error *err)
{
    if (who.role != ROLE_WORKER)
        return FAIL(err, E_PROTOCOL, "%s says hello to a master", hello->role);
    if (!hello->servers || hello->servers == (uint32_t)m->o->n_servers)
        return OK;
    return FAIL(err, E_CONFIG,
                "worker.%u on host %s knows of %u parameter servers, the master of %d: name the same "
                "cluster to every task",
                hello->index, hello->host, hello->servers, (int)m->o->n_servers);
}

/* Says whether it has become a member, or was one; *ret_waits: it has to ask again. */
static status let_in(master *m, const net_message *message, const Wire__Hello *hello, member **ret,
                     bool *ret_changed, bool *ret_waits, error *err)
{
    task who;
    int64_t timeout_us = (int64_t)(master_option(m, "distributed.heartbeat_timeout") * SECOND_US);
    TRY(hello_check(hello, m->o->config, (task){.role = ROLE_MASTER}, &who, err));
    TRY(check_newcomer(m, who, hello, err));
    net_admit(m->listener, message->connection);
    recorder_peer(net_peer_number(m->listener, &message->from), hello_process(hello, who));
    *ret_waits = hello->reads[0] && members_has_read(&m->members, hello);
    if (*ret_waits)
        return OK;
    *ret_waits = reading_workers_hello(&m->reading, hello, message, clock_us());
    if (*ret_waits)
        return OK;
    TRY(members_check_rival(&m->members, hello, message, clock_us(), timeout_us, ret_waits, err));
    if (*ret_waits)
        return OK;
    TRY(master_check_files(m, hello, err));
    return members_hello(&m->members, hello, message, clock_us(), ret, ret_changed, err);
}

status master_take_hello(master *m, const net_message *message, const Wire__Hello *hello, error *err)
{
    error why = ERROR_INIT;
    member *one = NULL;
    bool changed = false, waits = false, was_settled = m->files.settled;
    status st = let_in(m, message, hello, &one, &changed, &waits, &why);
    if (st != OK)
        master_refuse(m, &message->from, st, &why);
    if (st != OK || waits)
        return OK;
    char name[TASK_NAME];
    if (changed) {
        LOG_I("HELLO", "task=%s host=%s lanes=%u incarnation=%u", member_name(one, name), one->host,
              one->lanes, one->incarnation);
        master_tell(m, TIMELINE_JOIN, name, "is there: process %llu on %s, %u lane%s", (unsigned long long)one->pid,
                    one->host, one->lanes, one->lanes == 1 ? "" : "s");
    }
    TRY(settle_files(m, err));
    if (one->refused)
        return OK;
    if (m->files.settled == was_settled) /* else all were welcomed */
        admission_welcome(m, one);
    if (changed && m->views.deal)
        deal_forget_worker(m->views.deal, &(view_lane){one->trainer, one->index, 0});
    m->views.is_due |= changed && m->phase >= RUN;
    if (m->plan.scheduler->hello)
        m->plan.scheduler->hello(m, one, changed);
    if (!changed && m->phase >= RUN)
        master_send_view(m, &message->from);
    return master_try_setup(m, err);
}

/* --- declarations --- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static status check_declared(const master *m, const wire_declaration *d, error *err)
{
    if (!same_text(m->plan.declaration.vocabulary, d->vocabulary))
        return FAIL(err, E_DATA,
                    "the training data have another vocabulary than on the first worker: every "
                    "worker must see the same files");
    char ours[65], theirs[65];
    flat_digest(m->plan.declaration.flat, ours);
    flat_digest(d->flat, theirs);
    if (strcmp(ours, theirs) == 0 && d->examples_per_epoch == m->plan.declaration.examples_per_epoch &&
        memcmp(&d->kinds, &m->plan.declaration.kinds, sizeof d->kinds) == 0)
        return OK;
    return FAIL(err, E_DATA,
                "another model or other data is declared (%lld examples, %lld on the first worker): "
                "every worker must see the same files",
                (long long)d->examples_per_epoch, (long long)m->plan.declaration.examples_per_epoch);
}

/* The recipe of the first one is the job's: what others count by another one is left out. */
static status check_training_metrics(const wire_declaration *d, error *err)
{
    training_metrics *m = NULL;
    if (!d->training_metrics.size)
        return OK;
    status st = training_metrics_open(d->training_metrics.data, d->training_metrics.size, &m, err);
    training_metrics_close(&m);
    return st;
}

static status read_declaration(const Wire__Declaration *m, wire_declaration *ret, error *err)
{
    TRY(wire_declaration_read(m, ret, err));
    status st = check_training_metrics(ret, err);
    if (st != OK)
        wire_declaration_fini(ret);
    return st;
}

/* The first one is the job's. */
status master_take_declare(master *m, member *from, const Wire__Declaration *d, error *err)
{
    char name[TASK_NAME];
    wire_declaration declared;
    error why = ERROR_INIT;
    status st = read_declaration(d, &declared, &why);
    if (st == OK && !m->plan.declaration.flat) {
        m->plan.declaration = declared;
        from->declared = true;
        from->sees_dir = d->sees_job_dir;
        if (declared.vocabulary)
            TRY(jobdir_keep_vocabulary(m->o->dir, declared.vocabulary, err));
        return master_try_setup(m, err);
    }
    if (st == OK) {
        st = check_declared(m, &declared, &why);
        wire_declaration_fini(&declared);
    }
    from->declared = st == OK;
    from->sees_dir = d->sees_job_dir;
    if (st == OK)
        return master_try_setup(m, err);
    error_prepend(&why, "%s", member_name(from, name));
    refuse_member(m, from, &why);
    return OK;
}
