/*
 * Two servers that stand by for each other, and what becomes of their parts when they, or the master, die or
 * hang: docs/PROTOCOL.md, "Lives and eras", "Standbys" and "The vote".
 *
 * Shard p is one part; at first server p acts for it and the other stands by. One worker, which never dies,
 * stands for all of them and a step has one slot: what several workers do is in steps.pml.
 *
 * Pushes of the worker are bits of the era they were said in: they arrive in any order, late or never. What
 * servers say to each other and to the master is read off its sender, as long as that does not lose its
 * memory: a message that is taken later than it could have been changes nothing, for who takes it is in the
 * same era still, and all that it waits with waits for this message.
 *
 *   VERSIONS      steps of the job
 *   KILLS, HANGS  of servers; one that hangs may thaw or not
 *   DEATHS        of the master
 *   VOTES         steps need a verdict
 *   LAUNCHER      somebody kills a server that hangs and that nobody can replace
 */
#ifndef VERSIONS
#define VERSIONS 2
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef HANGS
#define HANGS 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifdef VOTES
#define votes 1
#else
#define votes 0
#endif

#define ERAS 14
#define NOBODY 2
#define NONE 15                 /* no version: not here, or not complete */
#define other(s) (1 - (s))
#define bit(set, i) ((set) >> (i) & 1)
#define in_air(set, i) set = set | 1 << (i)

/* --- what an era is, and what is said in it --- */

typedef holders_t { byte acting, standby, is_backed };

typedef era_t {
    bool keeps, runs;
    byte lineage, start;
    holders_t shards[2];        /* as it began */
    byte pushed;                /* bit t: the worker's sums of step t, to whoever acts */
    byte verdict;               /* bit t: the master's on step t, to all servers */
};
era_t eras[ERAS];

/* --- servers --- */

mtype = { UP, HUNG, STUCK, DEAD };          /* STUCK will not thaw */
mtype = { NO_COPY, DUE, SENT, HELD };

typedef server_t {
    mtype life;
    byte era, begun;            /* heard of; whose SETUP was carried out, 0: none */
    byte lineage;
    byte version[2];
    bool root[2];               /* the sum of step `version` is here, and waits for the verdict */
    byte norms_from[2];         /* it knows the norm of no step before */
    byte verdict_step;          /* one more than the last it heard of */
    mtype copy[2];              /* of what it acts for */
    byte copied[2];             /* SENT: that version */
    bool owed[2];               /* a sum was sent and is not acknowledged */
    byte owed_step[2];
    byte answerable[2];
};
server_t servers[2];

/* --- the master --- */

mtype = { GATHER, SETUP, RUN, OVER };
mtype phase = GATHER;
byte era;                       /* newest */
byte lineage;
holders_t now[2];
byte known[2];                  /* lineage of the parts that server is known to hold; 0: none */
bool is_short;                  /* GATHER: those who are here do not hold every part */
bool here[2];                   /* it said WELCOME, and its connection is not lost */
bool anew[2];                   /* it has another life than the master knows */
byte ready;                     /* bit s: READY of this era was taken */
byte told_version[2];           /* as READY had it */
byte saved;                     /* newest checkpoint */
byte cut;                       /* bit p: that shard of the checkpoint of version 1 is written */
byte norms, norms_step, verdict_step;   /* verdict_step: one more than the last announced */
bool is_taken_back;             /* all went back, and the accounts do not know yet */
byte kills, hangs, deaths;

/* --- the worker --- */

byte w_era, w_version, w_got;   /* the version it collects, the parts of it that are here */
byte told;                      /* the master's journal has a report of a step from this version */

/* What was answered in this lineage: nobody may ever hear that it does not exist. */
byte answered[2];

/* Used within a step and meaningless after it, so no part of the state. */
hidden byte i, j, p, q, t, low, high, newest, before;
hidden byte keeps, acts, stands_by, holds, lost, has_standby, is_used;
hidden byte is_held[2];
hidden holders_t found[2];

#define reaches(s, p) (servers[s].version[p] + servers[s].root[p])

#include "standby_master.pml"
#include "standby_server.pml"

/* --- src/worker/sync_driver.c: pulls exact versions, pushes a step once it holds all of its version --- */

inline take_part(p) {
    w_got = w_got | 1 << p;
    if
    :: eras[w_era].lineage == lineage && w_version > answered[p] -> answered[p] = w_version
    :: else
    fi;
    if
    :: w_got == 3 ->
        w_got = 0;
        if
        :: eras[w_era].lineage == lineage && w_version < VERSIONS && w_version > told -> told = w_version
        :: else
        fi;
        if
        :: w_version < VERSIONS -> in_air(eras[w_era].pushed, w_version)
        :: else
        fi;
        w_version++
    :: else
    fi
}

#ifdef DEFECT_ANSWERED_BEFORE_THE_STANDBY_HAS_IT
#define shown(s, p) servers[s].version[p]
#else
#define shown(s, p) visible(s, p)
#endif
#define answers(p) (servers[eras[w_era].shards[p].acting].life == UP && \
                    servers[eras[w_era].shards[p].acting].begun == w_era && \
                    servers[eras[w_era].shards[p].acting].era == w_era && \
                    servers[eras[w_era].shards[p].acting].version[p] != NONE && \
                    w_version <= shown(eras[w_era].shards[p].acting, p))

proctype worker() {
end:
    do
    :: d_step { phase != OVER && w_era < era && eras[era].runs -> w_era = era; w_version = eras[era].start; w_got = 0;
        forget_eras() }
    :: d_step { w_era && w_version <= VERSIONS && !bit(w_got, 0) && answers(0) -> take_part(0) }
    :: d_step { w_era && w_version <= VERSIONS && !bit(w_got, 1) && answers(1) -> take_part(1) }
    od
}

/* --- what must always hold --- */

#define is_there(p) (servers[now[p].acting].life == UP && servers[now[p].acting].begun == era)
#define apart(a, b) ((a) > (b) -> (a) - (b) : (b) - (a))
/* the lemma */
#define far_apart (phase == RUN && is_there(0) && is_there(1) && apart(acting_version(0), acting_version(1)) > 1)
/* no answer is taken back */
#define forgotten(p) (phase == RUN && is_there(p) && reaches(now[p].acting, p) < answered[p])
/* two copies are enough: nobody is asked for what is older */
#define is_gone(p) (phase == RUN && is_there(p) && w_era == era && !bit(w_got, p) && w_version + 1 < acting_version(p))

proctype watch() {
end:
    do
    :: timeout && phase != OVER -> assert(false)    /* nobody can do anything: the job never ends */
    :: far_apart -> assert(false)
    :: forgotten(0) || forgotten(1) -> assert(false)
    :: is_gone(0) || is_gone(1) -> assert(false)
    od
}

init {
    byte s, p;
    atomic {
        for (s : 0..1) {
            servers[s].life = UP;
            for (p : 0..1) {
                servers[s].version[p] = NONE;
                servers[s].copy[p] = NO_COPY
            }
        }
        run master(); run hearing(0); run hearing(1); run server(0); run server(1);
        run part(0, 0); run part(0, 1); run part(1, 0); run part(1, 1); run worker(); run watch()
    }
}
