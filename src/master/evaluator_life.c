/* See evaluator_life.h. */
#include "master/evaluator_life.h"

void evaluator_life_rest(evaluator_life *e)
{
    *e = (evaluator_life){.state = e->state, .moved_us = e->moved_us};
}

static void follow(evaluator_life *e, const read_state *line, int64_t now_us)
{
    bool is_anew = e->readings == 0 || line->moves < e->state.moves;
    if (is_anew && e->readings < EVALUATOR_READINGS) {
        e->readings++;
        e->furthest = line->moves;
        e->moved_us = now_us;
    }
    if (line->moves > e->furthest) {
        e->furthest = line->moves;
        e->moved_us = now_us;
    }
    e->state = *line;
}

void evaluator_life_look(evaluator_life *e, uint64_t trace, const read_state *line, int64_t now_us)
{
    if (trace != e->trace || !e->seen_us) {
        e->trace = trace;
        e->seen_us = now_us;
        e->hangs = false;
    }
    if (line)
        follow(e, line, now_us);
    e->says = line != NULL;
    e->reads = e->says && now_us - e->seen_us < EVALUATOR_SILENT_US;
}
