/*
 * What slots report reaches the accounts, whoever dies: docs/PROTOCOL.md, "The accounts".
 *
 * One part, the reporting part, on an acting server with a standby; one slot a step, computed by a worker that
 * is started again when it dies. Where nobody is left who holds the part, all go back to version 0.
 *
 *   VERSIONS                       steps of the job
 *   WORKERS, SERVERS, MASTERS      that die
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

#define ALL ((1 << VERSIONS) - 1)
#define bit(set, i) ((set) >> (i) & 1)
/* of a set of reports, those of step `recorded` and later */
#define unrecorded(set) ((set) & ~((1 << recorded) - 1) & ALL)
/* the version before which none is missing */
#define complete(set) (((set) & 1) == 0 -> 0 : (((set) & 2) == 0 -> 1 : (((set) & 4) == 0 -> 2 : 3)))

#ifdef DEFECT_REPORTS_GO_TO_THE_MASTER_ALONE
#define kept_with_the_part(set) 0
#else
#define kept_with_the_part(set) (set)
#endif

#ifdef DEFECT_BACKED_BEFORE_THE_ACCOUNTS
#define is_recorded(version) true
#else
#define is_recorded(version) (recorded >= version)
#endif

byte w_step, w_kept;            /* the step it computes next; reports it keeps */
bool w_measured;                /* that step's is among them */
byte pushed;                    /* one more than the step whose gradient is on its way; 0: none */
byte on_its_way;                /* reports said to the master, not read */

typedef server_t { byte version, kept };
server_t acting, standby;
bool holds;                     /* the standby is complete */
bool backed;                    /* and may act */
byte copied;                    /* the version it was sent */

byte journal, recorded;           /* on the disk; what REPORTED said last */
byte workers, servers, masters;

#define is_over (acting.version == VERSIONS && journal == ALL)
#define visible (backed && standby.version < acting.version -> standby.version : acting.version)

inline begin_again() {
    w_step = visible;
    w_kept = 0;
    w_measured = false;
    pushed = 0
}

active proctype worker() {
end:
    do
    /* the report goes out before the gradient */
    :: d_step { w_step < VERSIONS && w_step == visible && !w_measured ->
        w_measured = true;
        w_kept = w_kept | 1 << w_step;
        on_its_way = on_its_way | 1 << w_step }
    :: d_step { w_measured && !pushed -> pushed = w_step + 1 }
    :: d_step { visible > w_step -> w_step++; w_measured = false; pushed = 0 }
    /* said again on a new connection, in a new era, and when REPORTED leaves it out */
    :: d_step { (w_kept & ~journal) & ~on_its_way -> on_its_way = on_its_way | w_kept }
    :: d_step { workers < WORKERS -> workers++; begin_again() }
    od
}

active proctype server() {
end:
    do
    /* the gradient, with what its slot measured */
    :: d_step { pushed && acting.version == pushed - 1 ->
        acting.kept = acting.kept | kept_with_the_part(1 << acting.version);
        acting.version++;
        pushed = 0 }
    :: d_step { holds && standby.version < acting.version ->
        standby.kept = standby.kept | (kept_with_the_part(1 << standby.version) & acting.kept);
        standby.version++ }
    :: d_step { (acting.kept & ~journal) & ~on_its_way -> on_its_way = on_its_way | acting.kept }
    /* a copy brings no reports */
    :: d_step { !holds -> standby.version = acting.version; standby.kept = 0; copied = acting.version; holds = true }
    :: d_step { holds && !backed && is_recorded(copied) -> backed = true }
    :: d_step { servers < SERVERS ->                            /* the one that acts */
        servers++;
        pushed = 0;
        if
        :: backed -> acting.version = standby.version; acting.kept = standby.kept
        :: else ->                                              /* all go back, and what was said is of another era */
            acting.version = 0;
            acting.kept = 0;
            journal = 0;
            recorded = 0;
            on_its_way = 0;
            w_kept = 0
        fi;
        w_step = (w_step > acting.version -> acting.version : w_step);
        w_measured = bit(w_kept, w_step);
        standby.version = 0;
        standby.kept = 0;
        holds = false;
        backed = false;
        copied = 0 }
    :: d_step { servers < SERVERS && holds ->                   /* the one that stands by */
        servers++;
        standby.version = 0;
        standby.kept = 0;
        holds = false;
        backed = false;
        copied = 0 }
    od
}

active proctype master() {
end:
    do
    :: d_step { on_its_way & ~journal -> journal = journal | on_its_way; on_its_way = 0 }
    :: d_step { complete(journal) > recorded ->
        recorded = complete(journal);
        w_kept = unrecorded(w_kept);
        acting.kept = unrecorded(acting.kept);
        standby.kept = unrecorded(standby.kept) }
    :: d_step { masters < MASTERS -> masters++; on_its_way = 0 }
    od
}

active proctype watch() {
end:
    do
    /* nothing is left to be said, and a step has no report */
    :: timeout && !is_over -> assert(false)
    od
}
