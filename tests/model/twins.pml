/*
 * Two tasks of one index, and one task that is started again before its death was noticed: docs/PROTOCOL.md,
 * "Who fits".
 *
 *   TWINS     2: somebody gave two tasks the same index; 1: there is one
 *   KILLS     of tasks; whoever dies is started again
 */
#ifndef TWINS
#define TWINS 2
#endif
#ifndef KILLS
#define KILLS 0
#endif

mtype = { OUT, IN, DEAD, REFUSED };     /* OUT says HELLO until it is answered */
#define NOBODY 2
#define PATIENCE 2              /* heartbeat_timeout */

mtype tasks[2] = OUT;
byte at_work = NOBODY;          /* src/master/lanes/members.c: whose connection it is */
byte silence;                   /* of that one */
byte both;                      /* for so long it and its rival were heard */
byte kills;

#define is_heard(i) (tasks[i] == IN || tasks[i] == OUT)
#define other(i) (1 - (i))

/* members_check_rival; a lost connection is noticed by the silence that follows it, at the latest */
#ifdef DEFECT_WHO_COMES_LAST_IS_RIGHT
#define may_enter(i) true
#else
#define may_enter(i) (at_work == NOBODY || at_work == i || silence >= PATIENCE)
#endif

proctype member(byte i) {
end:
    do
    :: d_step { tasks[i] == OUT && may_enter(i) ->
        if
        :: at_work != NOBODY && at_work != i && tasks[at_work] == IN -> tasks[at_work] = OUT    /* "I do not know you" */
        :: else
        fi;
        at_work = i;
        tasks[i] = IN;
        silence = 0;
        both = 0 }
    :: d_step { tasks[i] == OUT && both >= PATIENCE -> tasks[i] = REFUSED; both = 0 }
    :: d_step { is_heard(i) && kills < KILLS -> kills++; tasks[i] = DEAD }
    :: d_step { tasks[i] == DEAD -> tasks[i] = OUT }
    od
}

/* a second passes */
active proctype clock() {
end:
    do
    :: d_step { at_work != NOBODY && !(tasks[at_work] == IN) && silence < PATIENCE -> silence++; both = 0 }
    :: d_step { at_work != NOBODY && tasks[at_work] == IN && TWINS == 2 && tasks[other(at_work)] == OUT && both < PATIENCE ->
        silence = 0;
        both++ }
    od
}

#define is_settled ((tasks[0] == IN && tasks[1] != IN && tasks[1] != OUT && tasks[1] != DEAD) || \
                    (tasks[1] == IN && tasks[0] != IN && tasks[0] != OUT && tasks[0] != DEAD))
ltl settles { <>[] is_settled }

init {
    atomic {
        run member(0);
        if
        :: TWINS == 2 -> run member(1)
        :: else -> tasks[1] = REFUSED
        fi
    }
}
