/* The master of standby.pml, which includes it. */

/* --- the assignment: src/master/servers/assign.c --- */

#define needs(s) (now[0].acting == s || now[0].standby == s || now[1].acting == s || now[1].standby == s)
#define survives(p, s) (now[p].acting != s || (now[p].standby != NOBODY && now[p].is_backed))
#define bears(s) (survives(0, s) && survives(1, s))

inline assign_deal() {
    for (p : 0..1) {
        now[p].acting = p; now[p].standby = other(p); now[p].is_backed = true
    }
}

inline assign_lose(s) {
    for (p : 0..1) {
        if
        :: now[p].acting == s -> now[p].acting = now[p].standby; now[p].standby = NOBODY; now[p].is_backed = false
        :: now[p].acting != s && now[p].standby == s -> now[p].standby = NOBODY; now[p].is_backed = false
        :: else
        fi
    }
}

inline assign_return(s) {
    for (p : 0..1) {
        if
        :: now[p].standby == NOBODY && now[p].acting != s -> now[p].standby = s; now[p].is_backed = false
        :: else
        fi
    }
}

/* replace_lost of shards.c; sets `keeps` */
inline replace_lost() {
    for (i : 0..1) {
        if
        :: keeps && !known[i] && needs(i) && bears(i) -> assign_lose(i)
        :: keeps && !known[i] && needs(i) && !bears(i) -> keeps = false
        :: else
        fi
    }
    for (i : 0..1) {
        if
        :: keeps && here[i] -> assign_return(i)
        :: else
        fi
    }
}

/* Complete copies of the shard in the newest lineage, as the WELCOMEs tell them. */
#define has(s, p) (here[s] && servers[s].begun && servers[s].lineage == eras[newest].lineage && \
                   servers[s].version[p] != NONE)

inline assign_find() {
    newest = 0;
    for (i : 0..1) {
        if
        :: here[i] && known[i] && servers[i].begun > newest -> newest = servers[i].begun
        :: else
        fi
    }
    keeps = newest > 0;
    for (p : 0..1) {
        if
        :: keeps ->
            i = eras[newest].shards[p].acting;
            acts = i != NOBODY && has(i, p);
            i = eras[newest].shards[p].standby;
            stands_by = false;
            if
            :: i != NOBODY -> stands_by = has(i, p) &&
                (eras[newest].shards[p].is_backed || servers[i].begun == newest)
            :: else
            fi;
            found[p].acting = (acts -> eras[newest].shards[p].acting : (stands_by -> i : NOBODY));
            found[p].standby = (acts && stands_by -> i : NOBODY);
            found[p].is_backed = acts && stands_by;
            keeps = keeps && found[p].acting != NOBODY
        :: else
        fi
    }
    if
    :: keeps ->
        for (p : 0..1) {
            now[p].acting = found[p].acting;
            now[p].standby = found[p].standby;
            now[p].is_backed = found[p].is_backed;
            lineage = servers[now[p].acting].lineage
        }
    :: else
    fi
}

/* A new era: what was found or kept goes on, else all load the newest checkpoint. */
inline begin_setup() {
    era++;
    assert(era < ERAS);
    if
    :: !keeps ->
        /* one server at a time costs nothing that was answered */
        assert(kills + hangs > 1 || (answered[0] <= saved && answered[1] <= saved));
        assign_deal();
        lineage = era;
        is_taken_back = true;
        answered[0] = saved;
        answered[1] = saved;
        verdict_step = 0
    :: else
    fi;
    eras[era].keeps = keeps;
    eras[era].lineage = lineage;
    for (p : 0..1) {
        eras[era].shards[p].acting = now[p].acting;
        eras[era].shards[p].standby = now[p].standby;
        eras[era].shards[p].is_backed = now[p].is_backed
    }
    eras[era].start = saved;
    phase = SETUP;
    cut = 0;
    ready = (needs(0) -> 0 : 1) | (needs(1) -> 0 : 2)
}

inline turn() {
    keeps = true;
    replace_lost();
    begin_setup()
}

#define acting_version(p) servers[now[p].acting].version[p]

#ifdef DEFECT_ACCOUNTS_BIND_WHO_WENT_BACK
#define is_old_news false
#else
#define is_old_news is_taken_back
#endif

/* All are READY: find_start and is_behind of slot_scheduler.c. */
inline begin_run() {
    low = (told_version[0] < told_version[1] -> told_version[0] : told_version[1]);
    high = (told_version[0] < told_version[1] -> told_version[1] : told_version[0]);
    if
    :: eras[era].keeps && (high > low + 1 || low < saved || (!is_old_news && low + votes < told)) ->
        known[0] = 0;
        known[1] = 0;
        turn()
    :: else ->
        if
        :: is_taken_back -> told = saved; is_taken_back = false
        :: else
        fi;
        eras[era].start = low;
        eras[era].runs = true;
        told_version[0] = 0;
        told_version[1] = 0;
        norms = 0;
        norms_step = low + (verdict_step == low + 1);
        phase = RUN
    fi
}

#ifdef DEFECT_HUNG_SERVER_IS_WAITED_FOR
#define is_given_up(s) (servers[s].life == DEAD)
#else
#define is_given_up(s) (servers[s].life == DEAD || (is_silent(s) && (!here[s] || may_hang)))
#endif
/* who loads a checkpoint may be silent for long */
#define may_hang (phase == RUN || (phase == SETUP && eras[era].keeps))
#define is_silent(s) (servers[s].life == DEAD || servers[s].life == HUNG || servers[s].life == STUCK)

#define visible(s, p) ((servers[s].copy[p] == SENT || servers[s].copy[p] == HELD) && \
                       servers[s].answerable[p] < servers[s].version[p] \
                       -> servers[s].answerable[p] : servers[s].version[p])
#ifdef DEFECT_NORM_BEFORE_THE_STANDBY_HAS_THE_SUM
#define sum_is_safe(s, p) true
#else
#define sum_is_safe(s, p) ((servers[s].copy[p] != SENT && servers[s].copy[p] != HELD) || \
                           servers[s].answerable[p] > servers[s].version[p])
#endif
#define may_vote(s, p, t) ((servers[s].version[p] == t && servers[s].root[p] && sum_is_safe(s, p)) || \
                           (servers[s].version[p] == t + 1 && servers[s].version[p] > servers[s].norms_from[p]))

#define is_told_backed(p) (servers[now[p].acting].begun == era && servers[now[p].acting].copy[p] == HELD)

#ifdef DEFECT_STANDBYS_BEAR_WHAT_THEY_HAVE_NOT_LOADED
#define others_hold(s) true
#else
#define others_hold(s) (known[other(s)] || !needs(other(s)))
#endif

/* What it hears of server s: dispatch.c, turn.c. */
proctype hearing(byte s) {
end:
    do
    /* its life is another: take_server_welcome */
    :: d_step { phase != OVER && servers[s].life == UP && anew[s] ->
        anew[s] = false;
        here[s] = true;
        is_short = false;
        known[s] = 0;
        if
        :: phase != GATHER -> turn()
        :: else
        fi }
    :: d_step { phase == GATHER && servers[s].life == UP && !anew[s] && !here[s] ->
        here[s] = true;
        is_short = false;
        known[s] = (servers[s].begun -> servers[s].lineage : 0) }
    /* it is silent, its connection gone or not: master_watch_servers */
    :: d_step { phase != GATHER && phase != OVER && is_given_up(s) && needs(s) && bears(s) &&
                others_hold(s) ->
        here[s] = false;
        known[s] = 0;
        turn() }
    /* it is back, with what it had */
    :: d_step { phase != GATHER && phase != OVER && servers[s].life == UP && !anew[s] && !here[s] ->
        here[s] = true;
        is_short = false;
        known[s] = (servers[s].begun -> servers[s].lineage : 0);
        if
        :: !needs(s) -> turn()
        :: else
        fi }
    :: d_step { phase == SETUP && servers[s].life == UP && servers[s].era == era && here[s] && !bit(ready, s) ->
        if
        :: servers[s].begun == era ->
            known[s] = lineage;
            ready = ready | 1 << s;
            for (p : 0..1) {
                if
                :: now[p].acting == s -> told_version[p] = servers[s].version[p]
                :: else
                fi
            }
            if
            :: ready == 3 -> begin_run()
            :: else
            fi
        :: else ->              /* lost */
            known[s] = 0;
            turn()
        fi }
    :: d_step { phase == RUN && is_told_backed(s) && now[s].standby != NOBODY && !now[s].is_backed ->
        now[s].is_backed = true }
    :: d_step { phase == RUN && servers[now[s].acting].life == UP && servers[now[s].acting].era == era &&
                acting_version(s) == 1 && saved == 0 && !bit(cut, s) ->
        cut = cut | 1 << s;
        if
        :: cut == 3 -> saved = 1
        :: else
        fi }
#ifdef VOTES
    :: d_step { phase == RUN && norms_step < VERSIONS && !bit(norms, s) &&
                servers[now[s].acting].life == UP && servers[now[s].acting].era == era &&
                may_vote(now[s].acting, s, norms_step) ->
        norms = norms | 1 << s;
        if
        :: norms == 3 -> in_air(eras[era].verdict, norms_step); norms_step++; verdict_step = norms_step; norms = 0
        :: else
        fi }
    /* said again to who votes again */
    :: d_step { phase == RUN && verdict_step && !bit(eras[era].verdict, verdict_step - 1) ->
        in_air(eras[era].verdict, verdict_step - 1) }
#endif
    od
}

proctype master() {
end:
    do
    /* all servers are here, or those that are hold every part and the others are silent */
    :: d_step { phase == GATHER && !is_short && (here[0] || here[1]) && (here[0] || is_silent(0)) && (here[1] || is_silent(1)) ->
        assign_find();
        if
        :: here[0] && here[1] || keeps ->
            if
            :: keeps -> replace_lost()
            :: else
            fi;
            begin_setup()
        :: else -> is_short = true                      /* until another comes */
        fi }
    :: d_step { phase == RUN && now[0].is_backed && now[1].is_backed && now[0].standby == 0 && now[1].standby != 1 ->
        now[0].standby = now[0].acting; now[0].acting = 0;
        turn() }
    :: d_step { phase == RUN && now[0].is_backed && now[1].is_backed && now[1].standby == 1 ->
        now[1].standby = now[1].acting; now[1].acting = 1;
        turn() }
    :: d_step { phase == RUN && deaths < DEATHS ->
        deaths++;
        phase = GATHER;
        is_taken_back = false;
        here[0] = false;
        here[1] = false;
        known[0] = 0;
        known[1] = 0;
        anew[0] = false;
        anew[1] = false;
        verdict_step = 0 }
    /* the last checkpoint */
    :: d_step { phase == RUN && w_version == VERSIONS + 1 &&
                servers[now[0].acting].life == UP && servers[now[0].acting].era == era &&
                servers[now[1].acting].life == UP && servers[now[1].acting].era == era &&
                acting_version(0) == VERSIONS && acting_version(1) == VERSIONS ->
        phase = OVER }
    od
}
