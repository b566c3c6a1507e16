#include "common/fault/fault.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/base/thread.h"
#include "common/fault/freeze.h"
#include "common/fault/plan.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A clause of this task's, and how often its message has passed. */
typedef struct shot {
    const fault_clause *clause;
    atomic_int_fast64_t n_seen;
    atomic_bool has_fired;
} shot;

struct fault {
    char name[TASK_NAME];
    shot *shots; /* [n] */
    size_t n;
    int64_t begin_us, delay_us;
    double share; /* of its messages that are lost */
    rng draws;
    atomic_uint_fast64_t n_sent, n_lost;

    pthread_t clock; /* waits for the moments that are times */
    bool has_clock;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool is_ending; /* under lock */
};

static _Thread_local fault *current;

/* The byte of a head that holds the type. */
enum { TYPE_AT = 4 };

static void fire(const fault *f, shot *s)
{
    if (atomic_exchange(&s->has_fired, true))
        return;
    LOG_W("FAULT", "%s fires after=%.3fs", s->clause->text,
          (double)(clock_us() - f->begin_us) / 1e6);
    if (s->clause->kind == FAULT_KILL)
        kill(getpid(), SIGKILL);
    else
        freeze_process(s->clause->length_us);
}

/* --- moments that are times --- */

static bool is_shot(const fault_clause *c)
{
    return c->kind == FAULT_KILL || c->kind == FAULT_FREEZE;
}

/* The next shot at a time, or NULL. */
static shot *next_timed(fault *f)
{
    shot *next = NULL;
    for (size_t i = 0; i < f->n; i++) {
        shot *s = &f->shots[i];
        if (!is_shot(s->clause) || s->clause->message || atomic_load(&s->has_fired))
            continue;
        if (!next || s->clause->at_us < next->clause->at_us)
            next = s;
    }
    return next;
}

static void *run_clock(void *arg)
{
    fault *f = arg;
    shot *s;
    pthread_mutex_lock(&f->lock);
    while (!f->is_ending && (s = next_timed(f))) {
        int64_t due_us = f->begin_us + s->clause->at_us;
        if (clock_us() < due_us) {
            (void)thread_cond_wait_until(&f->end, &f->lock, due_us);
            continue;
        }
        pthread_mutex_unlock(&f->lock);
        fire(f, s);
        pthread_mutex_lock(&f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* --- life --- */

static void add_shot(fault *f, const fault_clause *c)
{
    shot *s = &f->shots[f->n++];
    s->clause = c;
    if (c->kind == FAULT_DELAY)
        f->delay_us += c->length_us;
    else if (c->kind == FAULT_DROP)
        f->share += c->share;
}

static uint64_t id_of(task who)
{
    return rng_mix((uint64_t)who.role + 1, (uint64_t)who.index);
}

static void tell_plan(const fault *f, const fault_plan *plan, int life)
{
    for (size_t i = 0; i < f->n; i++) {
        const fault_clause *c = f->shots[i].clause;
        char at[32] = "";
        if (is_shot(c) && !c->message)
            snprintf(at, sizeof at, " at=%.3fs", (double)c->at_us / 1e6);
        LOG_W("FAULT", "plan=%s%s task=%s life=%d seed=%" PRIu64, c->text, at, f->name, life,
              plan->seed);
    }
}

status fault_begin(const fault_plan *plan, task who, int life, fault **ret, error *err)
{
    size_t n = 0;
    for (size_t i = 0; plan && i < plan->n; i++)
        n += fault_concerns(&plan->clauses[i], who, life);
    *ret = NULL;
    if (!n)
        return OK;
    fault *f = xcalloc(1, sizeof *f);
    task_name(who, f->name);
    f->shots = xcalloc(n, sizeof *f->shots);
    f->begin_us = clock_us();
    f->draws = rng_make(plan->seed, RNG_FAULT, id_of(who));
    for (size_t i = 0; i < plan->n; i++)
        if (fault_concerns(&plan->clauses[i], who, life))
            add_shot(f, &plan->clauses[i]);
    pthread_mutex_init(&f->lock, NULL);
    thread_cond_init(&f->end);
    tell_plan(f, plan, life);
    status st = OK;
    if (next_timed(f)) {
        st = thread_start(&f->clock, f->name, run_clock, f, err);
        f->has_clock = st == OK;
    }
    if (st == OK)
        *ret = f;
    else
        fault_end(&f);
    return st;
}

static void tell_end(const fault *f)
{
    for (size_t i = 0; i < f->n; i++) {
        const shot *s = &f->shots[i];
        if (is_shot(s->clause) && !atomic_load(&s->has_fired))
            LOG_W("FAULT", "%s never fired", s->clause->text);
    }
    if (f->share > 0)
        LOG_W("FAULT", "lost=%" PRIuFAST64 " of=%" PRIuFAST64 " messages sent",
              atomic_load(&f->n_lost), atomic_load(&f->n_sent));
}

void fault_end(fault **ff)
{
    fault *f = *ff;
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->is_ending = true;
    pthread_cond_signal(&f->end);
    pthread_mutex_unlock(&f->lock);
    if (f->has_clock)
        pthread_join(f->clock, NULL);
    tell_end(f);
    pthread_cond_destroy(&f->end);
    pthread_mutex_destroy(&f->lock);
    free(f->shots);
    free(f);
    *ff = NULL;
}

void fault_enter(fault *f)
{
    current = f;
}

fault *fault_current(void)
{
    return current;
}

/* --- messages --- */

static void fault_pass(fault *f, const unsigned char *head, bool is_sent)
{
    for (size_t i = 0; i < f->n; i++) {
        shot *s = &f->shots[i];
        const fault_clause *c = s->clause;
        if (c->message && c->message == (wire_type)head[TYPE_AT] &&
            (is_sent ? c->sent : c->received) && atomic_fetch_add(&s->n_seen, 1) + 1 == c->number)
            fire(f, s);
    }
}

bool fault_on_send(fault *f, const unsigned char *head)
{
    fault_pass(f, head, true);
    if (f->share <= 0)
        return false;
    uint64_t n = atomic_fetch_add(&f->n_sent, 1);
    bool is_lost = (double)rng_uniform(&f->draws, n) < f->share;
    atomic_fetch_add(&f->n_lost, is_lost);
    return is_lost;
}

void fault_on_receive(fault *f, const unsigned char *head)
{
    fault_pass(f, head, false);
}

int64_t fault_delay_us(const fault *f)
{
    return f->delay_us;
}
