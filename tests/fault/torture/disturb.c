#include "fault/torture/disturb.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { MS = 1000, SECOND_US = 1000000, BURST_US = 300000, HOUR_S = 3600, BLOCK = 4096 };

static void follow(disturber *s, followup next)
{
    if (s->n_followups < MOST_FOLLOWUPS)
        s->followups[s->n_followups++] = next;
}

/* Of those that run now; 0: nobody does. */
static pid_t victim(const disturber *s, uint32_t choice)
{
    pid_t pids[MOST_TASKS];
    int n = tasks_pids(s->tasks, pids);
    return n ? pids[choice % (uint32_t)n] : 0;
}

static void send(disturber *s, pid_t pid, int signal)
{
    if (!pid)
        return;
    (void)tasks_disturb(s->tasks, pid);
    kill(pid, signal);
}

static void send_all(disturber *s, int signal)
{
    pid_t pids[MOST_TASKS];
    int n = tasks_pids(s->tasks, pids);
    for (int i = 0; i < n; i++)
        send(s, pids[i], signal);
}

/* --- one after the other, as kinds.def has them --- */

static void burst(disturber *s, const disturbance *k, int64_t now)
{
    int n = 2 + (int)(k->choice % 3);
    for (int i = 0; i < n; i++) {
        uint32_t more = (uint32_t)rng_mix(k->choice, (uint64_t)i);
        follow(s, (followup){.due_us = now + more % BURST_US, .what = DIE, .choice = more >> 8});
    }
}

static void freeze(disturber *s, const disturbance *k, int64_t now)
{
    followup next = {.due_us = now + (int64_t)k->lasts_ms * MS, .what = THAW};
    next.pid = victim(s, k->choice);
    if (!next.pid)
        return;
    send(s, next.pid, SIGSTOP);
    bool is_watched = !s->tasks->plan->is_launched || !s->tasks->plan->workers;
    if (k->kind == HANG && !is_watched)
        return; /* the launcher sees to it */
    if (k->kind == HANG) {
        next.what = KILL_HUNG;
        next.due_us = now + (int64_t)(HANG_S + 1) * SECOND_US;
    }
    follow(s, next);
}

static void leave(disturber *s, const disturbance *k)
{
    s->tasks->was_told_to_leave = true;
    if (!k->all)
        send(s, victim(s, k->choice), SIGTERM);
    else if (s->tasks->plan->is_launched)
        send(s, tasks_first(s->tasks)->pid, SIGTERM);
    else
        send_all(s, SIGTERM);
}

static char *filler_of(const disturber *s)
{
    return xasprintf("%s/disk/filler", s->tasks->dir);
}

static void fill_disk(disturber *s, const disturbance *k, int64_t now)
{
    static const char block[BLOCK];
    char *path = filler_of(s);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    while (fd >= 0 && write(fd, block, sizeof block) > 0)
        continue;
    if (fd >= 0)
        close(fd);
    free(path);
    s->tasks->was_disk_full = true;
    follow(s, (followup){.due_us = now + (int64_t)k->lasts_ms * MS, .what = EMPTY_DISK});
}

static void impair_links(disturber *s, const disturbance *k, int64_t now)
{
    int n = s->tasks->n, of = (int)(k->choice % (uint32_t)n);
    int other = (of + 1 + (int)(k->choice / (uint32_t)n % (uint32_t)(n > 1 ? n - 1 : 1))) % n;
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++) {
            bool is_hit = k->all ? from == of || to == of : from == of && to == other;
            if (from == to || !is_hit)
                continue;
            links_impair(s->tasks->links, from, to, k->how);
            follow(s, (followup){.due_us = now + (int64_t)k->lasts_ms * MS,
                                 .what = RESTORE,
                                 .from = from,
                                 .to = to});
        }
}

static void move_clocks(disturber *s, const disturbance *k)
{
    int n = s->tasks->n;
    for (int i = 0; i < n; i++)
        if (k->all || i == (int)(k->choice % (uint32_t)n))
            tasks_move_clock(s->tasks, i, (int64_t)k->hours * HOUR_S);
}

static void hit(disturber *s, const disturbance *k, int64_t now)
{
    s->fired[k->kind]++;
    switch (k->kind) {
    case KILL:
        send(s, victim(s, k->choice), SIGKILL);
        break;
    case BURST:
        burst(s, k, now);
        break;
    case FREEZE:
    case SILENCE:
    case HANG:
        freeze(s, k, now);
        break;
    case DEAD:
        send_all(s, SIGKILL);
        break;
    case LAUNCHER:
        tasks_first(s->tasks)->rest_us = (int64_t)k->lasts_ms * MS;
        send(s, tasks_first(s->tasks)->pid, SIGKILL);
        break;
    case LEAVE:
        leave(s, k);
        break;
    case DISK:
        fill_disk(s, k, now);
        break;
    case LINK:
        impair_links(s, k, now);
        break;
    case CLOCK:
        move_clocks(s, k);
        break;
    case KINDS:
        break;
    }
}

/* --- what follows --- */

static void end(disturber *s, const followup *q)
{
    char *filler = filler_of(s);
    switch (q->what) {
    case DIE:
        send(s, victim(s, q->choice), SIGKILL);
        break;
    case THAW:
        kill(q->pid, SIGCONT);
        break;
    case KILL_HUNG:
        kill(q->pid, SIGKILL);
        break;
    case RESTORE:
        links_restore(s->tasks->links, q->from, q->to);
        break;
    case EMPTY_DISK:
        unlink(filler);
        break;
    }
    free(filler);
}

void disturber_turn(disturber *s, int steps)
{
    const plan *p = s->tasks->plan;
    int64_t now = clock_us();
    for (int i = 0; i < p->n_disturbances; i++) {
        const disturbance *k = &p->disturbances[i];
        if (!s->due_us[i] && (int64_t)steps * 1000 >= (int64_t)k->per_mille * p->steps)
            s->due_us[i] = now + (int64_t)k->pause_ms * MS;
        if (s->is_done[i] || !s->due_us[i] || now < s->due_us[i])
            continue;
        s->is_done[i] = true;
        hit(s, k, now);
    }
    for (int i = s->n_followups - 1; i >= 0; i--) {
        if (now < s->followups[i].due_us)
            continue;
        followup q = s->followups[i];
        s->followups[i] = s->followups[--s->n_followups];
        end(s, &q);
    }
}

bool disturber_is_idle(const disturber *s)
{
    return s->n_followups == 0;
}
