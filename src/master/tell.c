#include "master/tell.h"

#include "master/state.h"

#include <stdarg.h>
#include <stdio.h>

enum { TOLD_MOST = 512 };

void master_tell(const master *m, timeline_kind kind, const char *who, const char *format, ...)
{
    char text[TOLD_MOST];
    va_list args;
    if (!m->timeline)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    timeline_add(m->timeline, &(timeline_event){
                                  .kind = kind,
                                  .task = who,
                                  .text = text,
                                  .start = jobdir_starts(m->o->dir),
                                  .era = m->era.identity.era,
                                  .step = m->accounting ? accounting_totals_of(m->accounting)->step : -1,
                              });
}

void master_tell_judged(const master *m, int64_t before)
{
    int64_t now = results_judged_step(m->results), best = results_best_step(m->results);
    if (now <= before)
        return;
    if (best == now)
        master_tell(m, TIMELINE_EVALUATION, NULL, "step %lld is the best so far", (long long)now);
    else
        master_tell(m, TIMELINE_EVALUATION, NULL, "step %lld is judged; the best is step %lld", (long long)now,
                    (long long)best);
}

void master_tell_end(const master *m, status st, const char *text)
{
    if (st == OK)
        master_tell(m, TIMELINE_END, NULL, "the job is done");
    else
        master_tell(m, TIMELINE_END, NULL, "%s", text);
}
