#include "job/process/hung.h"

#include "common/base/clock.h"
#include "job/process/log_mux.h"

#include <signal.h>

enum { LOOK_US = 1000 * 1000 };

void hung_kill_left(supervision *s)
{
    for (int i = 0; i < s->n; i++) {
        child *c = &s->children[i];
        bool is_new = s->restarts[i].began_us > s->hung_at_us - 2 * SUPERVISION_LEAVE_US;
        if (c->has_ended || c->task.role == ROLE_MASTER || is_new)
            continue;
        log_mux_say("%s has not left with the master: it is killed", c->name);
        child_kill(c, SIGKILL);
    }
    s->hung_at_us = INT64_MAX;
}

static bool is_alone(const supervision *s)
{
    bool is_alone = s->options->n > 1 && s->n_running == 1 && !s->children[0].has_ended;
    for (int i = 1; i < s->n; i++)
        is_alone = is_alone && s->restarts[i].due_us == INT64_MAX;
    return is_alone;
}

void hung_look_at_master(supervision *s)
{
    s->look_at_us = INT64_MAX;
    if (!s->options->hang_ms || !is_alone(s)) {
        s->master = (stillness){.pid = 0};
        return;
    }
    child *c = &s->children[0];
    if (stillness_look(&s->master, c->pid, clock_us()) < s->options->hang_ms * 1000) {
        s->look_at_us = clock_us() + LOOK_US;
        return;
    }
    log_mux_say("%s hangs, and all others have left: it is killed", c->name);
    child_kill(c, SIGKILL);
}
