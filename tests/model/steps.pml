/*
 * Workers that come and go while they compute the slots of steps: docs/PROTOCOL.md, "Who computes what", "Pulls
 * by exact version" and "The lemma".
 *
 * Two parts on a server without a standby, two workers of one lane, two slots a step. If the server dies all go
 * back to the newest checkpoint; a master that dies is followed by one that goes on from what the server holds.
 *
 *   VERSIONS                     steps of the job
 *   WORKERS, SERVERS, MASTERS    that die; a worker that freezes is one that does nothing for a while
 *   DEALS                        how often slots go to another lane though nobody died
 */
#ifndef VERSIONS
#define VERSIONS 2
#endif
#ifndef WORKERS
#define WORKERS 0
#endif
#ifndef SERVERS
#define SERVERS 0
#endif
#ifndef MASTERS
#define MASTERS 0
#endif
#ifndef DEALS
#define DEALS 0
#endif

#define SLOTS 2
#define bit(set, i) ((set) >> (i) & 1)
#define node(slot, part) ((slot) * 2 + (part))

/* --- src/ps/table_update.c, src/common/parts/tree.c --- */

byte version[2];
byte fold[2];                   /* bit k: slot k of step `version` is in the sum */
byte counted[2];                /* how many gradients of batches are in the weights */
byte saved;

/* --- src/master --- */

byte era = 1;
byte start;                     /* version the era begins with */
byte owner[SLOTS];              /* src/master/lanes/view.c */
byte servers, masters, workers, deals;

/* --- src/worker/sync_driver.c --- */

typedef worker_t {
    bool is_up;
    byte era;
    byte version;               /* it collects; it holds the one before, if it is whole */
    byte got;                   /* bit p */
    bool is_whole;
};
worker_t w[2];

/* Pushes of this era on their way, by step: bit node(slot, part). Who pushed does not matter: the same batch
 * gives the same gradient. Nodes of an older era are refused. */
byte air[VERSIONS];

hidden byte i;

#define is_over (version[0] == VERSIONS && version[1] == VERSIONS)
#define lowest (version[0] < version[1] -> version[0] : version[1])

inline next_era() {
    era++;
    start = lowest;
    for (i : 0 .. VERSIONS - 1) {
        air[i] = 0
    }
    i = 0
}

#ifdef DEFECT_A_NODE_COUNTS_TWICE
#define is_new(k, p) true
#else
#define is_new(k, p) (!bit(fold[p], k))
#endif
#define arrived(k, p) (version[p] < VERSIONS && bit(air[version[p]], node(k, p)))

/* Slot k of part p arrives. */
proctype part(byte p, k) {
end:
    do
    :: d_step { arrived(k, p) && is_new(k, p) && counted[p] < 200 ->
        fold[p] = fold[p] | 1 << k;
        counted[p]++;
        if
        :: fold[p] == 3 -> fold[p] = 0; version[p]++; assert(counted[p] == SLOTS * version[p])
        :: else
        fi }
    od
}

#define is_working(n) (w[n].is_up && w[n].era == era)
#ifdef DEFECT_PUSHED_BEFORE_THE_VERSION_IS_WHOLE
#define step_of(n) w[n].version
#define holds(n, p) bit(w[n].got, p)
#else
#define step_of(n) (w[n].version - 1)
#define holds(n, p) w[n].is_whole
#endif
#define may_push(n, k, p) (is_working(n) && owner[k] == n && holds(n, p) && step_of(n) < VERSIONS && \
                           !bit(air[step_of(n)], node(k, p)))
/* a server answers with the newest two versions of a part */
#define may_pull(n, p) (is_working(n) && w[n].version <= VERSIONS && !bit(w[n].got, p) && \
                        (version[p] == w[n].version || version[p] == w[n].version + 1))
#define is_gone(n, p) (is_working(n) && !bit(w[n].got, p) && version[p] > w[n].version + 1)

inline begin_at(n, to) {
    w[n].version = to;
    w[n].got = 0;
    w[n].is_whole = false
}

inline push(n, k, p) {
    air[step_of(n)] = air[step_of(n)] | 1 << node(k, p)
}

inline take(n, p) {
    w[n].got = w[n].got | 1 << p;
    if
    :: w[n].got == 3 -> w[n].version++; w[n].got = 0; w[n].is_whole = true
    :: else
    fi
}

proctype worker(byte n) {
end:
    do
    :: d_step { !is_over && w[n].is_up && w[n].era < era -> w[n].era = era; begin_at(n, start) }
    :: d_step { may_pull(n, 0) -> take(n, 0) }
    :: d_step { may_pull(n, 1) -> take(n, 1) }
    :: d_step { is_gone(n, 0) -> begin_at(n, version[0] - 1) }
    :: d_step { is_gone(n, 1) -> begin_at(n, version[1] - 1) }
    :: d_step { may_push(n, 0, 0) -> push(n, 0, 0) }
    :: d_step { may_push(n, 0, 1) -> push(n, 0, 1) }
    :: d_step { may_push(n, 1, 0) -> push(n, 1, 0) }
    :: d_step { may_push(n, 1, 1) -> push(n, 1, 1) }
    :: d_step { !is_over && w[n].is_up && workers < WORKERS ->
        workers++;
        w[n].is_up = false;
        w[n].era = 0;
        begin_at(n, 0) }
    :: d_step { !is_over && !w[n].is_up -> w[n].is_up = true }
    od
}

active proctype master() {
end:
    do
    /* its slots go to the other */
    :: d_step { !is_over && !w[0].is_up && (owner[0] == 0 || owner[1] == 0) && w[1].is_up -> owner[0] = 1; owner[1] = 1 }
    :: d_step { !is_over && !w[1].is_up && (owner[0] == 1 || owner[1] == 1) && w[0].is_up -> owner[0] = 0; owner[1] = 0 }
    :: d_step { !is_over && deals < DEALS -> deals++; owner[0] = 1 - owner[0] }
    :: d_step { !is_over && version[0] == 1 && version[1] == 1 && saved == 0 -> saved = 1 }
    :: d_step { !is_over && servers < SERVERS ->
        servers++;
        version[0] = saved; version[1] = saved;
        fold[0] = 0; fold[1] = 0;
        counted[0] = SLOTS * saved; counted[1] = SLOTS * saved;
        next_era() }
    :: d_step { !is_over && masters < MASTERS -> masters++; next_era() }
    od
}

#define far_apart (version[0] > version[1] + 1 || version[1] > version[0] + 1)

active proctype watch() {
end:
    do
    :: timeout && !is_over -> assert(false)
    :: far_apart -> assert(false)
    od
}

init {
    atomic {
        w[0].is_up = true; w[1].is_up = true;
        owner[1] = 1;
        run part(0, 0); run part(0, 1); run part(1, 0); run part(1, 1); run worker(0); run worker(1)
    }
}
