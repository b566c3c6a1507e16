/* The servers of standby.pml, which includes it. */

/* What was said in an era that nobody is in reaches nobody. */
inline forget_eras() {
    for (i : 1..era - 2) {
        is_used = w_era == i || servers[0].begun == i || servers[1].begun == i ||
                  servers[0].begun == i + 1 || servers[1].begun == i + 1;
        if
        :: !is_used ->
            eras[i].keeps = false; eras[i].runs = false; eras[i].lineage = 0; eras[i].start = 0;
            eras[i].pushed = 0; eras[i].verdict = 0;
            for (j : 0..1) {
                eras[i].shards[j].acting = 0; eras[i].shards[j].standby = 0; eras[i].shards[j].is_backed = false
            }
        :: else
        fi
    };
    i = 0
}

inline copy_begin(s, e) {
    has_standby = eras[e].shards[p].acting == s && eras[e].shards[p].standby != NOBODY;
    if
    :: !has_standby || eras[e].shards[p].standby != before || !eras[e].shards[p].is_backed ->
        servers[s].owed[p] = false
    :: else
    fi;
    if
    :: !has_standby -> servers[s].copy[p] = NO_COPY
    :: has_standby && !eras[e].shards[p].is_backed -> servers[s].copy[p] = DUE
    :: else ->
        if
        :: eras[e].shards[p].standby != before || servers[s].copy[p] == NO_COPY || servers[s].copy[p] == DUE ->
            servers[s].answerable[p] = servers[s].version[p] + servers[s].root[p]
        :: else
        fi;
        servers[s].copy[p] = HELD
    fi;
    if
    :: servers[s].copy[p] != HELD -> servers[s].answerable[p] = 0
    :: else
    fi;
    if
    :: !servers[s].owed[p] -> servers[s].owed_step[p] = 0
    :: else
    fi;
    servers[s].copied[p] = 0
}

/* ps_take_setup, hold_on, replicator_begin */
inline take_setup(s, e) {
    holds = servers[s].begun && servers[s].lineage == eras[e].lineage;
    lost = false;
    for (p : 0..1) {
        is_held[p] = eras[e].shards[p].acting == s || (eras[e].shards[p].standby == s && eras[e].shards[p].is_backed);
        lost = lost || (eras[e].keeps && is_held[p] && (!holds || servers[s].version[p] == NONE))
    }
    servers[s].era = e;
    if
    :: lost
    :: else ->
        for (p : 0..1) {
            before = NOBODY;
            if
            :: eras[e].keeps && servers[s].begun && eras[servers[s].begun].shards[p].acting == s ->
                before = eras[servers[s].begun].shards[p].standby
            :: else
            fi;
            if
            :: !eras[e].keeps || !is_held[p] -> servers[s].root[p] = false
            :: else
            fi;
            if
            :: !is_held[p] -> servers[s].version[p] = NONE
            :: is_held[p] && !eras[e].keeps ->
                servers[s].version[p] = eras[e].start;
                servers[s].norms_from[p] = eras[e].start;
                servers[s].copy[p] = NO_COPY
            :: else
            fi;
            copy_begin(s, e)
        }
        if
        :: !eras[e].keeps || !holds -> servers[s].verdict_step = 0
        :: else
        fi;
        servers[s].lineage = eras[e].lineage;
        servers[s].begun = e
    fi;
    forget_eras()
}

inline applied(s, p) {
    servers[s].version[p] = servers[s].version[p] + 1;
    servers[s].root[p] = false
}

/* The sum of a step is complete: root_reached */
inline root_reached(s, p) {
    if
    :: !votes || servers[s].verdict_step == servers[s].version[p] + 1 -> applied(s, p)
    :: else -> servers[s].root[p] = true
    fi
}


inline hear_verdict(s, step) {
    t = step;
    servers[s].verdict_step = t + 1;
    for (p : 0..1) {
        if
        :: servers[s].version[p] == t && servers[s].root[p] -> applied(s, p)
        :: else
        fi
    };
    p = 0
}

inline die(s) {
    servers[s].life = DEAD;
    servers[s].era = 0;
    servers[s].begun = 0;
    servers[s].lineage = 0;
    servers[s].verdict_step = 0;
    for (p : 0..1) {
        servers[s].version[p] = NONE;
        servers[s].root[p] = false;
        servers[s].norms_from[p] = 0;
        servers[s].copy[p] = NO_COPY;
        servers[s].copied[p] = 0;
        servers[s].owed[p] = false;
        servers[s].owed_step[p] = 0;
        servers[s].answerable[p] = 0
    }
    here[s] = false
}

#define is_acting (eras[servers[s].begun].shards[x].acting == s)
#define is_standing_by (eras[servers[s].begun].shards[x].standby == s)
#define mine servers[s]
#define its servers[other(s)]
#define is_at_work(s) (phase != OVER && servers[s].life == UP && servers[s].begun && servers[s].begun == servers[s].era)
#ifdef DEFECT_ERAS_ARE_NOT_COMPARED
#define pushed(e) (eras[e].pushed | eras[e - 1].pushed)
#define is_linked (its.begun > 0)
#else
#define pushed(e) eras[e].pushed
#define is_linked (its.begun == mine.begun)
#endif
/* the standby has the sum of the step that is owed to it */
#define has_taken(step) (its.version[x] != NONE && its.version[x] + its.root[x] > step)

/* Part x on server s: src/ps/table_update.c, replicator.c. */
proctype part(byte s, x) {
end:
    do
    :: d_step { is_at_work(s) && is_acting && mine.version[x] != NONE && !mine.root[x] &&
                mine.version[x] <= visible(s, x) && bit(pushed(mine.begun), mine.version[x]) ->
        if
        :: mine.copy[x] == SENT || mine.copy[x] == HELD ->
            mine.owed[x] = true;
            mine.owed_step[x] = mine.version[x]
        :: else
        fi;
        root_reached(s, x) }
    :: d_step { is_at_work(s) && mine.owed[x] && is_linked && has_taken(mine.owed_step[x]) ->
        mine.answerable[x] = mine.owed_step[x] + 1;
        mine.owed[x] = false;
        mine.owed_step[x] = 0 }
    /* the verdict on the step before comes with the sum */
    :: d_step { is_at_work(s) && is_standing_by && is_linked && mine.version[x] != NONE && its.owed[x] &&
                (its.copy[x] == HELD || its.copied[x] <= its.owed_step[x]) &&
                (its.owed_step[x] == mine.version[x] && !mine.root[x] ||
                 its.owed_step[x] == mine.version[x] + 1 && mine.root[x] && its.verdict_step == its.owed_step[x]) ->
        if
        :: mine.root[x] -> applied(s, x)
        :: else
        fi;
        root_reached(s, x) }
    /* said again, a copy is of a newer version */
    :: d_step { is_at_work(s) && (mine.copy[x] == DUE || mine.copy[x] == SENT && mine.copied[x] != mine.version[x]) &&
                is_linked && !(mine.root[x] && !mine.owed[x]) ->
        mine.copied[x] = mine.version[x];
        if
        :: mine.copy[x] == DUE -> mine.answerable[x] = mine.version[x]
        :: else
        fi;
        mine.copy[x] = SENT }
    :: d_step { is_at_work(s) && is_standing_by && is_linked && its.copy[x] == SENT &&
                (mine.version[x] == NONE || its.copied[x] > mine.version[x]) ->
        mine.version[x] = its.copied[x];
        mine.norms_from[x] = its.copied[x];
        mine.root[x] = false }
    :: d_step { is_at_work(s) && mine.copy[x] == SENT && is_linked && its.version[x] != NONE &&
                its.version[x] >= mine.copied[x] ->
        mine.copy[x] = HELD;
        if
        :: mine.owed[x] && mine.owed_step[x] < mine.copied[x] -> mine.owed[x] = false; mine.owed_step[x] = 0
        :: else
        fi;
        if
        :: mine.answerable[x] < mine.copied[x] -> mine.answerable[x] = mine.copied[x]
        :: else
        fi;
        mine.copied[x] = 0 }
    od
}

proctype server(byte s) {
end:
    do
    :: d_step { servers[s].life == UP && servers[s].era < era && phase != GATHER && here[s] ->
        take_setup(s, era) }
#if DEATHS
    /* what a master said that has died since */
    :: d_step { servers[s].life == UP && servers[s].era + 1 < era && needs(s) -> take_setup(s, era - 1) }
#endif
#ifdef VOTES
    /* verdicts come in their order, on the one connection to the master */
    :: d_step { is_at_work(s) && bit(eras[servers[s].begun].verdict, servers[s].verdict_step) -> hear_verdict(s, servers[s].verdict_step) }
    :: d_step { is_at_work(s) && bit(eras[servers[s].begun].verdict, servers[s].verdict_step + 1) -> hear_verdict(s, servers[s].verdict_step + 1) }
#endif
    :: d_step { phase != OVER && servers[s].life == UP && kills < KILLS -> kills++; die(s) }
    :: d_step { servers[s].life == UP && hangs < HANGS && may_hang -> hangs++; servers[s].life = HUNG }
    :: d_step { servers[s].life == UP && hangs < HANGS && may_hang -> hangs++; servers[s].life = STUCK }
    :: phase != OVER && servers[s].life == HUNG -> servers[s].life = UP
#ifdef LAUNCHER
    :: d_step { phase != OVER && servers[s].life == STUCK && !(may_hang && needs(s) && bears(s)) -> die(s) }
#endif
    :: d_step { phase != OVER && servers[s].life == DEAD -> servers[s].life = UP; anew[s] = true }
    od
}
