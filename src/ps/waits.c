/*
 * A wait always speaks: whom the server waits for, for which step, and how much has arrived; in the log where it is
 * long, and to the master.
 */
#include "ps/state.h"

#include "common/base/log.h"

/* Why the first pull of the part waits. */
static void list_pull_wait(const ps *s, int32_t part, double waited, wait_list *ret)
{
    const pull_list *l = &s->pulls[part];
    long long wanted = (long long)l->at[0].version, step = (long long)table_version(s->table, part);
    int32_t standby = s->standbys.replicator ? replicator_awaits(s->standbys.replicator, part) : HOLDER_NONE;
    char missing[128], name[TASK_NAME];
    table_missing(s->table, part, missing, sizeof missing);
    if (!s->plan.schedule.in_order) {
        wait_list_add(ret, LOG_WARN, "part=%d batch=%lld waits for batch=%s of=%lld since=%.1fs pulls=%zu", part,
                      wanted, missing, (long long)l->at[0].floor, waited, l->n);
        wait_list_words(ret, waited, NULL, "batch %s, for part %d", missing, part);
    } else if (standby != HOLDER_NONE && wanted <= step) {
        wait_list_add(ret, LOG_WARN, "part=%d version=%lld waits for its standby=%d since=%.1fs pulls=%zu", part,
                      wanted, standby, waited, l->n);
        task_name((task){ROLE_PS, s->o->self.index - s->assignment.server + standby}, name);
        wait_list_words(ret, waited, name, "%s to have version %lld of part %d too", name, wanted, part);
    } else {
        wait_list_add(ret, LOG_WARN, "part=%d version=%lld waits for slots=%s of step=%lld since=%.1fs pulls=%zu", part,
                      wanted, missing, step, waited, l->n);
        wait_list_words(ret, waited, NULL, "slots %s of step %lld, for part %d", missing, step, part);
    }
}

/* The part whose oldest pull has waited longest; -1: none waits. */
static int32_t longest_pull(const ps *s)
{
    int32_t found = -1;
    for (int32_t p = 0; p < s->plan.declaration.flat->n_live_parts; p++)
        if (s->pulls[p].n &&
            (found < 0 || s->pulls[p].at[0].since_us < s->pulls[found].at[0].since_us))
            found = p;
    return found;
}

static void list_master_silence(const ps *s, double silent, wait_list *ret)
{
    wait_list_add(ret, LOG_WARN, "for=master since=%.1fs: %s", silent,
                  s->set_up           ? "no word from it"
                  : s->chief.is_known ? "it has said hello, and nothing since"
                                      : "it has not come yet");
    wait_list_words(ret, silent, "master.0", "a word from the master");
}

static void list_setup_wait(double waited, wait_list *ret)
{
    wait_list_add(ret, LOG_INFO, "for=setup since=%.1fs: the master waits for other tasks", waited);
    wait_list_words(ret, waited, "master.0", "the master to begin, which waits for other tasks");
}

static void list_push_wait(const ps *s, double waited, wait_list *ret)
{
    long long newest = (long long)table_newest(s->table);
    wait_list_add(ret, LOG_INFO, "for=pushes newest=%lld since=%.1fs: nobody asks for a version", newest, waited);
    wait_list_words(ret, waited, NULL, "gradients of step %lld", newest);
}

/* --- what is said --- */

static void warn_of_master(ps *s, int64_t now_us, double limit_s, wait_list *ret)
{
    double waited;
    double silence_s = s->chief.is_known ? wait_warning_of_heartbeat(limit_s) : limit_s;
    if (wait_warning_due(&s->waits.master, now_us, s->chief.heard_us, silence_s, &waited))
        list_master_silence(s, waited, ret);
    else if (!s->set_up && s->chief.is_known && (double)(now_us - s->chief.heard_us) < silence_s * 1e6 &&
             wait_warning_due(&s->waits.setup, now_us, s->waits.began_us, limit_s, &waited))
        list_setup_wait(waited, ret);
}

static int64_t pull_began(const ps *s, int32_t part, int64_t now_us)
{
    return part < 0 ? now_us : s->pulls[part].at[0].since_us;
}

static void warn_of_parts(ps *s, int64_t now_us, double limit_s, wait_list *ret)
{
    double waited;
    if (s->waits.pushes != s->waits.seen_pushes || !s->waits.pushed_us)
        s->waits.pushed_us = now_us;
    s->waits.seen_pushes = s->waits.pushes;
    int32_t part = longest_pull(s);
    if (wait_warning_due(&s->waits.pull, now_us, pull_began(s, part, now_us), limit_s, &waited))
        list_pull_wait(s, part, waited, ret);
    bool has_parts = table_bytes(s->table) > 0;
    if (part < 0 && has_parts && wait_warning_due(&s->waits.push, now_us, s->waits.pushed_us, limit_s, &waited))
        list_push_wait(s, waited, ret);
}

void ps_warn_of_waits(ps *s, int64_t now_us)
{
    double limit_s = config_f64(s->o->config, "distributed.wait_warning");
    wait_list waits = WAIT_LIST_INIT;
    warn_of_master(s, now_us, limit_s, &waits);
    if (s->set_up)
        warn_of_parts(s, now_us, limit_s, &waits);
    wait_list_log(&waits);
    recorder_write_waits(&waits);
}

void ps_list_waits(const ps *s, int64_t now_us, wait_list *ret)
{
    double silent = (double)(now_us - s->chief.heard_us) * 1e-6;
    double since_start = (double)(now_us - s->waits.began_us) * 1e-6;
    if (silent >= wait_warning_of_heartbeat(WAIT_LISTED_S))
        list_master_silence(s, silent, ret);
    else if (!s->set_up && since_start >= WAIT_LISTED_S)
        list_setup_wait(since_start, ret);
    if (!s->set_up)
        return;
    int32_t part = longest_pull(s);
    double waited = (double)(now_us - pull_began(s, part, now_us)) * 1e-6;
    double unpushed = (double)(now_us - s->waits.pushed_us) * 1e-6;
    if (waited >= WAIT_LISTED_S)
        list_pull_wait(s, part, waited, ret);
    else if (part < 0 && s->waits.pushed_us && table_bytes(s->table) > 0 && unpushed >= WAIT_LISTED_S)
        list_push_wait(s, unpushed, ret);
}
