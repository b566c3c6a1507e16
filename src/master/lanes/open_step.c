#include "master/lanes/open_step.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void open_step_init(open_step *o, const steps *s, int64_t step, int64_t now_us)
{
    *o = (open_step){.steps = *s, .is_in = xcalloc((size_t)s->per_step, sizeof *o->is_in)};
    open_step_begin(o, step, false, now_us);
}

void open_step_fini(open_step *o)
{
    free(o->is_in);
    o->is_in = NULL;
}

void open_step_begin(open_step *o, int64_t step, bool seen, int64_t now_us)
{
    o->step = step;
    o->n_slots = steps_slots(&o->steps, step);
    o->n_in = 0;
    memset(o->is_in, 0, (size_t)o->steps.per_step * sizeof *o->is_in);
    o->since_us = now_us;
    o->turn_s = 0;
    o->is_clean = o->is_seen = o->is_as_dealt = seen;
}

void open_step_pause(open_step *o, int64_t now_us)
{
    o->since_us = now_us;
    o->is_clean = o->is_seen = o->is_as_dealt = false;
}

void open_step_deal(open_step *o)
{
    o->is_clean = o->is_as_dealt = false;
    o->times_s.n = o->dealt_s.n = 0;
}

void open_step_take(open_step *o, uint32_t slot, double turn_s)
{
    o->n_in += !o->is_in[slot];
    o->is_in[slot] = true;
    o->turn_s = turn_s > o->turn_s ? turn_s : o->turn_s;
}

bool open_step_measures(const open_step *o)
{
    return o->is_clean && o->n_slots == steps_slots(&o->steps, 0);
}

void open_step_next(open_step *o, int64_t now_us)
{
    double seconds = (double)(now_us - o->since_us) * 1e-6;
    if (open_step_measures(o))
        recent_add(&o->times_s, seconds);
    if (o->is_seen)
        recent_add(&o->all_s, seconds);
    if (o->is_as_dealt)
        recent_add(&o->dealt_s, seconds);
    o->n_over++;
    open_step_begin(o, o->step + 1, true, now_us);
}

/* What those who are done would have needed for the missing slots too. */
static double needed_s(const open_step *o)
{
    return o->turn_s * o->n_slots / o->n_in;
}

int64_t open_step_patience_us(const open_step *o)
{
    double usual_s = o->times_s.n >= LATE_STEPS_KNOWN ? recent_median(&o->times_s) : -1;
    if (o->n_in && (usual_s < 0 || needed_s(o) < usual_s))
        usual_s = needed_s(o);
    int64_t least = o->n_over && usual_s >= 0 ? LATE_LEAST_US : LATE_FIRST_US;
    int64_t wait = (int64_t)(LATE_TIMES * usual_s * 1e6);
    return wait > least ? wait : least;
}
