#include "cli/look/suggestions.h"

#include "cli/inspect/text.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SAVED 0.01

double suggestion_speed(double saves)
{
    return saves < 0.999 ? 1 / (1 - saves) : 1000;
}

static suggestion *add(suggestions *s, double saves, const char *format, ...) PRINTF_LIKE(3, 4);

/* NULL: it saves nothing to speak of. */
static suggestion *add(suggestions *s, double saves, const char *format, ...)
{
    if (saves < LEAST_SAVED || s->n == SUGGESTIONS_MOST)
        return NULL;
    suggestion *one = &s->at[s->n++];
    va_list args;
    va_start(args, format);
    vsnprintf(one->what, sizeof one->what, format, args);
    va_end(args);
    one->saves = saves;
    return one;
}

static void because(suggestion *one, const char *format, ...) PRINTF_LIKE(2, 3);

static void because(suggestion *one, const char *format, ...)
{
    if (!one)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(one->how, sizeof one->how, format, args);
    va_end(args);
}

static double share(const explain_facts *f, time_share which)
{
    return time_share_of(&f->shares, which);
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* --- input --- */

static void try_readers(const explain_facts *f, suggestions *s)
{
    double loading = share(f, SHARE_INPUT), computing = share(f, SHARE_COMPUTE);
    double workers = explain_option(f, "data_loader.workers", -1);
    if (workers == 0) {
        because(add(s, smaller(loading, computing), "data_loader.workers: 1"),
                "examples are read while the lane computes: of the %.0f %% for the one and %.0f %% for the other only "
                "the longer is left",
                100 * loading, 100 * computing);
        return;
    }
    suggestion *more = workers > 0 ? add(s, smaller(loading, (loading + computing) / 2), "data_loader.workers: %.0f",
                                         2 * workers)
                                   : add(s, smaller(loading, (loading + computing) / 2),
                                         "data_loader.workers: twice as many as it has by itself");
    because(more, "a batch that now is ready every %.0f %% of a slot's time is so in half of that, where processors "
                  "are free for it and the disk is fast enough",
            100 * (loading + computing));
}

/* --- compute --- */

static void try_lanes(const explain_facts *f, suggestions *s)
{
    double computing = share(f, SHARE_COMPUTE);
    bool has_slots = !f->is_in_steps || f->batches_per_step >= 2 * f->lanes;
    suggestion *lanes =
        has_slots ? add(s, computing / 2, "twice as many lanes (distributed.workers, on processors of their own)")
                  : add(s, computing / 2,
                        "twice as many lanes, on processors of their own, with trainer.batches_per_step: %lld",
                        (long long)(2 * f->lanes));
    because(lanes, "each computes half of the slots of what takes %.0f %% now%s", 100 * computing,
            has_slots ? "" : "; more batches a step change the result");
    because(add(s, computing / 2, "trainer.threads: %.0f", 2 * explain_option(f, "trainer.threads", 1)),
            "at the very best a slot takes half as long, where as many processors more are free; it changes the bits");
}

/* --- servers and the wire --- */

static void try_fewer_exchanges(const explain_facts *f, suggestions *s)
{
    double exchange = share(f, SHARE_WIRE) + share(f, SHARE_SERVERS);
    if (!f->is_in_steps)
        because(add(s, exchange / 2, "data_loader.batch_size: %.0f",
                    2 * explain_option(f, "data_loader.batch_size", 1)),
                "gradients and weights go once for twice as many examples: half of the %.0f %% for wire and servers; "
                "fewer and larger batches change the result",
                100 * exchange);
    if (!f->is_in_steps || !f->batches_per_step)
        return;
    because(add(s, exchange / 2, "trainer.batches_per_step: %lld", (long long)(2 * f->batches_per_step)),
            "gradients and weights go once for twice as many examples: half of the %.0f %% for wire and servers; fewer "
            "and larger steps change the result",
            100 * exchange);
}

static void try_servers(const explain_facts *f, suggestions *s)
{
    double wire = share(f, SHARE_WIRE), servers = share(f, SHARE_SERVERS), threads;
    bool narrow = f->servers < f->workers;
    if (f->servers)
        because(add(s, (narrow ? wire / 2 : 0) + servers / 2, "distributed.ps: %lld", (long long)(2 * f->servers)),
                narrow ? "each server, on a host of its own, has half of the parts: half of its work, and half of what "
                         "goes over its link"
                       : "each server, on a host of its own, has half of the parts, and half of the work");
    threads = explain_option(f, "distributed.ps_threads", 0);
    suggestion *more = threads > 0 ? add(s, servers / 2, "distributed.ps_threads: %.0f", 2 * threads)
                                   : add(s, servers / 2, "distributed.ps_threads: more than half of the processors, "
                                                         "which a server takes by itself");
    because(more, "at the best an update takes half as long, where processors are free");
}

static void try_shared_memory(const explain_facts *f, suggestions *s)
{
    const json_t *how = json_object_get(json_object_get(f->config, "distributed"), "shared_memory");
    if (!json_is_string(how) || strcmp(json_string_value(how), "off") != 0)
        return;
    because(add(s, share(f, SHARE_WIRE), "distributed.shared_memory: \"auto\""),
            "between tasks of one host nothing goes over a connection then: all of the %.0f %% at the most",
            100 * share(f, SHARE_WIRE));
}

/* --- stragglers --- */

/* The longest that a lane is at its slots of a step, as they would be dealt by speed, one after the other. */
static double dealt_by_speed_s(const explain_facts *f)
{
    enum { WORKERS = 512 };
    double taken[WORKERS] = {0}, longest = 0;
    const json_t *o;
    for (int64_t k = 0; k < f->batches_per_step && f->workers <= WORKERS; k++) {
        size_t best = 0;
        double soonest = 0;
        for (size_t i = 0; (o = explain_worker(f, i)); i++) {
            double lanes = (double)inspect_int(o, "lanes");
            double end = taken[i] + explain_slot_s(o) / (lanes > 0 ? lanes : 1);
            if (explain_slot_s(o) > 0 && (soonest <= 0 || end < soonest)) {
                soonest = end;
                best = i;
            }
        }
        taken[best] = soonest;
        longest = soonest > longest ? soonest : longest;
    }
    return longest;
}

/* The same as all have as many. */
static double dealt_alike_s(const explain_facts *f)
{
    double longest = 0;
    const json_t *o;
    for (size_t i = 0; f->lanes && (o = explain_worker(f, i)); i++) {
        double slots = (double)((f->batches_per_step + f->lanes - 1) / f->lanes), s = slots * explain_slot_s(o);
        longest = s > longest ? s : longest;
    }
    return longest;
}

static void try_rebalance(const explain_facts *f, suggestions *s)
{
    double now = dealt_alike_s(f), then = dealt_by_speed_s(f), waits = share(f, SHARE_STRAGGLERS);
    bool is_done = !f->is_in_steps || explain_has_option(f, "distributed.rebalance");
    if (is_done || f->workers < 2 || now <= 0 || then <= 0 || then >= now)
        return;
    because(add(s, smaller(waits, 1 - then / now), "distributed.rebalance: true"),
            "the %lld slots of a step dealt by the measured speed of lanes take %.3g s in place of %.3g s",
            (long long)f->batches_per_step, then, now);
}

static void try_late_worker(const explain_facts *f, suggestions *s)
{
    double slower, waits = share(f, SHARE_STRAGGLERS);
    const json_t *late = explain_late_worker(f, &slower);
    if (!late)
        return;
    because(add(s, waits, "see to %s on %s, or leave it out", inspect_str(late, "task"), inspect_str(late, "host")),
            "the others wait %.0f %% of all time for it; a slot takes it %.1f times as long as them", 100 * waits,
            slower);
}

/* --- what the master waits for --- */

static void try_checkpoints(const explain_facts *f, suggestions *s)
{
    static const char *const options[] = {"trainer.save_checkpoints_steps", "trainer.save_checkpoints_secs"};
    double waits = share(f, SHARE_CHECKPOINTS);
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        double every = explain_option(f, options[i], 0);
        if (every <= 0)
            continue;
        because(add(s, waits / 2, "%s: %g", options[i], 2 * every),
                "half as many checkpoints to wait for, of what takes %.0f %% now", 100 * waits);
        break;
    }
    because(add(s, waits, "a faster disk for the job dir"),
            "a checkpoint that is written before the next one is due holds nobody: all of the %.0f %%", 100 * waits);
}

static void try_evaluations(const explain_facts *f, suggestions *s)
{
    double waits = share(f, SHARE_EVALUATIONS);
    because(add(s, waits, "an evaluator on processors of its own, or less validation data"),
            "training goes on by what an epoch is judged to be: of an evaluation that takes no time nothing of the "
            "%.0f %% is left",
            100 * waits);
    if (explain_has_option(f, "trainer.patience"))
        because(add(s, waits, "trainer.patience: null"),
                "nobody waits for an evaluation that cannot end training, unless the learning rate goes by it too");
}

static void try_disk(const explain_facts *f, suggestions *s)
{
    double waits = share(f, SHARE_DISK);
    because(add(s, waits, "a job dir that takes what is written"),
            "the master held all back for %.0f %% of the time, as its disk took nothing", 100 * waits);
}

/* --- the rest --- */

static void try_more_slots(const explain_facts *f, suggestions *s)
{
    double idle = share(f, SHARE_IDLE);
    if (!f->is_in_steps || f->lanes < 2 || !f->batches_per_step || f->batches_per_step % f->lanes == 0)
        return;
    int64_t rounds = f->batches_per_step / f->lanes + 1;
    because(add(s, idle, "trainer.batches_per_step: %lld", (long long)(rounds * f->lanes)),
            "as many slots for each of the %lld lanes: none of the %.0f %% is left; it changes the result",
            (long long)f->lanes, 100 * idle);
}

static void try_replicas(const explain_facts *f, suggestions *s)
{
    double lost = share(f, SHARE_LOST);
    if (f->servers < 2 || explain_option(f, "distributed.ps_replicas", 0) > 0)
        return;
    because(add(s, lost, "distributed.ps_replicas: 1"),
            "a server that is lost takes nothing with it: at the most all of the %.0f %%", 100 * lost);
}

static int by_gain(const void *a, const void *b)
{
    double one = ((const suggestion *)a)->saves, other = ((const suggestion *)b)->saves;
    return (one < other) - (one > other);
}

void suggestions_make(const explain_facts *f, suggestions *ret)
{
    static void (*const tries[])(const explain_facts *, suggestions *) = {
        try_readers,     try_lanes,       try_fewer_exchanges, try_servers, try_shared_memory, try_rebalance,
        try_late_worker, try_checkpoints, try_evaluations,     try_disk,    try_more_slots,    try_replicas,
    };
    ret->n = 0;
    for (size_t i = 0; i < COUNT_OF(tries); i++)
        tries[i](f, ret);
    qsort(ret->at, ret->n, sizeof *ret->at, by_gain);
}
