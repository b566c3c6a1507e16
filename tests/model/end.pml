/*
 * Who was frozen or started again as the job ended learns of its end, and of no other: docs/PROTOCOL.md,
 * "Nobody answers"; src/common/store/jobend.c.
 *
 *   SEES     the task sees the job dir
 *   STALE    an earlier job of the same configuration is done there, and this one was started with --force
 */
#ifndef SEES
#define SEES 1
#endif
#ifndef STALE
#define STALE 0
#endif

mtype = { NOTHING, DONE, FAILED };      /* what is written in the job dir, and of which job */
mtype = { UP, FROZEN, ENDED };
mtype = { RUN, SAYS_STOP, GONE };

mtype master = RUN;
mtype outcome = NOTHING;
mtype written = NOTHING;
bool written_by_us = !STALE;    /* by the job that runs now, not by an earlier one */
mtype task = UP;
bool has_met;                   /* it knows the job's number and the start of its master */
bool frozen, restarted;
mtype left_with = NOTHING;
bool waited_in_vain;            /* lost_timeout or start_timeout: 200 */

active proctype master_0() {
end:
    do
    :: d_step { master == RUN && STALE && !written_by_us -> written = NOTHING; written_by_us = true }   /* --force */
    :: d_step { master == RUN && written_by_us -> outcome = DONE; written = DONE; master = SAYS_STOP }
    :: d_step { master == RUN && written_by_us -> outcome = FAILED; written = FAILED; master = SAYS_STOP }
    :: d_step { master == SAYS_STOP -> master = GONE }          /* after three seconds at the latest */
    od
}

/* jobend_look */
#ifdef DEFECT_THE_END_IS_SAID_ONLY
#define may_read 0
#else
#define may_read SEES
#endif
#define reads_done (may_read && written == DONE && (has_met -> written_by_us : !STALE))
#define reads_failure (may_read && written == FAILED && has_met)
#define is_alone (task == UP && master == GONE)

active proctype late() {
end:
    do
    :: d_step { task == UP && master == RUN && !has_met -> has_met = true }
    :: d_step { task == UP && master == SAYS_STOP -> task = ENDED; left_with = outcome }
    :: d_step { is_alone && reads_done -> task = ENDED; left_with = DONE }
    :: d_step { is_alone && reads_failure -> task = ENDED; left_with = FAILED }
    :: d_step { is_alone && !reads_done && !reads_failure -> task = ENDED; waited_in_vain = true }
    :: d_step { task == UP && !frozen -> frozen = true; task = FROZEN }
    :: d_step { task == FROZEN -> task = UP }
    :: d_step { task == UP && !restarted -> restarted = true; has_met = false }     /* another life */
    od
}

/* who never met a master believes in no failure: another start may follow. With --force it believes in nothing */
#define may_wait (!SEES || (!has_met && (outcome == FAILED || STALE)))

active proctype watch() {
end:
    do
    :: timeout && (task != ENDED || master != GONE) -> assert(false)
    :: task == ENDED && !waited_in_vain && left_with != outcome -> assert(false)
    :: waited_in_vain && !may_wait -> assert(false)
    od
}
