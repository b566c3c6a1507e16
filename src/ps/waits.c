/*
 * A wait always speaks: whom the server waits for, for which step, and how much has arrived.
 */
#include "ps/state.h"

#include "common/base/log.h"

/* Why the first pull of the part waits. */
static void say_pull_wait(const ps *s, int32_t part, double waited)
{
    const pull_list *l = &s->pulls[part];
    long long wanted = (long long)l->at[0].version;
    int32_t standby = s->standbys.replicator ? replicator_awaits(s->standbys.replicator, part) : HOLDER_NONE;
    char missing[128];
    table_missing(s->table, part, missing, sizeof missing);
    if (!s->plan.schedule.in_order)
        LOG_W("WAIT", "part=%d batch=%lld waits for batch=%s of=%lld since=%.1fs pulls=%zu", part,
              wanted, missing, (long long)l->at[0].floor, waited, l->n);
    else if (standby != HOLDER_NONE && wanted <= table_version(s->table, part))
        LOG_W("WAIT", "part=%d version=%lld waits for its standby=%d since=%.1fs pulls=%zu", part,
              wanted, standby, waited, l->n);
    else
        LOG_W("WAIT", "part=%d version=%lld waits for slots=%s of step=%lld since=%.1fs pulls=%zu",
              part, wanted, missing, (long long)table_version(s->table, part), waited, l->n);
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

static void warn_of_master(ps *s, int64_t now_us, double limit_s)
{
    double waited;
    double silence_s = s->chief.is_known ? wait_warning_of_heartbeat(limit_s) : limit_s;
    if (wait_warning_due(&s->waits.master, now_us, s->chief.heard_us, silence_s, &waited))
        LOG_W("WAIT", "for=master since=%.1fs: %s", waited,
              s->set_up       ? "no word from it"
              : s->chief.is_known ? "it has said hello, and nothing since"
                              : "it has not come yet");
    else if (!s->set_up && s->chief.is_known && (double)(now_us - s->chief.heard_us) < silence_s * 1e6 &&
             wait_warning_due(&s->waits.setup, now_us, s->waits.began_us, limit_s, &waited))
        LOG_I("WAIT", "for=setup since=%.1fs: the master waits for other tasks", waited);
}

void ps_warn_of_waits(ps *s, int64_t now_us)
{
    double limit_s = config_f64(s->o->config, "distributed.wait_warning"), waited;
    warn_of_master(s, now_us, limit_s);
    if (!s->set_up)
        return;
    if (s->waits.pushes != s->waits.seen_pushes || !s->waits.pushed_us)
        s->waits.pushed_us = now_us;
    s->waits.seen_pushes = s->waits.pushes;
    int32_t part = longest_pull(s);
    int64_t since_us = part < 0 ? now_us : s->pulls[part].at[0].since_us;
    if (wait_warning_due(&s->waits.pull, now_us, since_us, limit_s, &waited))
        say_pull_wait(s, part, waited);
    bool has_parts = table_bytes(s->table) > 0;
    if (part < 0 && has_parts &&
        wait_warning_due(&s->waits.push, now_us, s->waits.pushed_us, limit_s, &waited))
        LOG_I("WAIT", "for=pushes newest=%lld since=%.1fs: nobody asks for a version",
              (long long)table_newest(s->table), waited);
}
