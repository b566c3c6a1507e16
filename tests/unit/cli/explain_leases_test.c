/* Who holds up the others in the modes ssp and async: worker.0 waits for part 4 of ps.0, for batch 120, which needs all
 * batches below 118; batch 117 is leased to worker.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/folder.h"
#include "unit/cli/support_written.h"

#include <signal.h>
#include <stdio.h>

enum { AWAITED = 117, FLOOR = 118, BATCH = 120 };

/* --- what is said --- */

static void leases(written *w, recorder_kind kind, int peer, int lane, int64_t batch, double ago_s)
{
    written_add(w, (recorder_event){.kind = kind, .a = WIRE_LEASE, .b = peer, .step = batch,
                                    .at_us = (int64_t)(ago_s * SECOND), .c = (int64_t)((uint64_t)lane << 43)});
}

static void pulls(written *w, recorder_kind kind, int peer, int part, int64_t batch, double ago_s)
{
    written_add(w, (recorder_event){.kind = kind, .a = WIRE_PULL, .b = peer, .lane = part, .step = batch, .c = FLOOR,
                                    .at_us = (int64_t)(ago_s * SECOND)});
}

/* --- what most cases have --- */

static written the_master(void)
{
    written w = written_by(ROLE_MASTER, 0, RECORDING_WAIT);
    leases(&w, EVENT_SENT, WORKER_1, 0, AWAITED, 12);
    leases(&w, EVENT_SENT, WORKER_0, 0, 116, 12);
    leases(&w, EVENT_SENT, WORKER_0, 0, BATCH, 11);
    leases(&w, EVENT_SENT, WORKER_1, 0, 119, 10);
    written_says(&w, EVENT_RECEIVED, WIRE_REPORT, WORKER_0, 0, 116, 9);
    written_says(&w, EVENT_RECEIVED, WIRE_REPORT, PS_0, 0, AWAITED, 9); /* the 117th that it made */
    leases(&w, EVENT_SENT, WORKER_1, 0, AWAITED, 5);
    leases(&w, EVENT_SENT, WORKER_0, 0, BATCH, 4);
    return w;
}

static written the_waiting(void)
{
    written w = written_by(ROLE_WORKER, 0, RECORDING_WAIT);
    pulls(&w, EVENT_SENT, PS_0, 4, BATCH, 8);
    written_is_in(&w, EVENT_SLOT, 0, BATCH, 0, 8);
    written_is_in(&w, EVENT_WAIT_PART, 0, BATCH, 4, 8);
    return w;
}

static written the_server(void)
{
    written w = written_by(ROLE_PS, 0, RECORDING_ASKED);
    pulls(&w, EVENT_RECEIVED, WORKER_0, 4, BATCH, 8);
    return w;
}

static written the_awaited(void)
{
    written w = written_by(ROLE_WORKER, 1, RECORDING_ASKED);
    leases(&w, EVENT_RECEIVED, MASTER, 0, AWAITED, 12);
    written_is_in(&w, EVENT_SLOT, 0, AWAITED, 0, 11);
    return w;
}

static void leave_all(written master, written waiting, written server, written awaited)
{
    written_leave(&master, "master.0.bin");
    written_leave(&waiting, "worker.0.bin");
    written_leave(&server, "ps.0.bin");
    written_leave(&awaited, "worker.1.bin");
}

/* --- a worker --- */

static void test_who_has_the_batch_and_computes_it(void **state)
{
    (void)state;
    leave_all(the_master(), the_waiting(), the_server(), the_awaited());
    told_holds_up("worker.1", "computes batch 117", 3);
    told_text_says("  worker.1 computes batch 117, since 11.0 s; 3 tasks wait for it\n");
    told_text_says("  worker.0     waits for part 4 for batch 120, of ps.0, since 8.0 s\n");
    told_text_says("  ps.0         waits for batch 117, for part 4, of worker.1, since 8.0 s\n");
    told_text_says("  master.0     waits for what was measured of batch 117, of worker.1, since 12.0 s\n");
    told_text_says_not("ps.0         waits for batch 119"); /* not below the floor */
}

static void test_who_has_the_batch_and_is_stopped(void **state)
{
    (void)state;
    written master = the_master(), waiting = the_waiting(), server = the_server();
    written_leave(&master, "master.0.bin");
    written_leave(&waiting, "worker.0.bin");
    written_leave(&server, "ps.0.bin");
    told_holds_up("worker.1", "has written nothing: it hangs or is stopped", 3);
    pulls(&server, EVENT_RECEIVED, WORKER_1, 5, AWAITED, 9);    /* as it was stopped */
    written_leave(&server, "ps.0.bin");
    told_text_says("  worker.1     waits for part 5 for batch 117, of ps.0, since 9.0 s\n");
}

static void test_who_has_the_batch_and_has_died(void **state)
{
    (void)state;
    written awaited = the_awaited();
    awaited.head.reason = RECORDING_DEATH;
    awaited.head.signal = SIGSEGV;
    leave_all(the_master(), the_waiting(), the_server(), awaited);
    told_holds_up("worker.1", "died of signal 11", 3);
}

static void test_who_has_the_batch_and_lacks_examples(void **state)
{
    (void)state;
    written awaited = the_awaited();
    written_is_in(&awaited, EVENT_LOAD, 0, AWAITED, 0, 10);
    leave_all(the_master(), the_waiting(), the_server(), awaited);
    told_holds_up("worker.1", "waits for the examples of batch 117", 3);
}

static void test_who_has_the_batch_and_has_not_begun_it(void **state)
{
    (void)state;
    written awaited = the_awaited();
    awaited.in_progress[0].kind = EVENT_IDLE;
    leave_all(the_master(), the_waiting(), the_server(), awaited);
    told_holds_up("worker.1", "has not begun batch 117", 3);
}

/* It is at the next one, and some of the gradient's parts wait for credit. */
static void test_who_has_computed_the_batch(void **state)
{
    (void)state;
    written awaited = the_awaited();
    awaited.in_progress[0].step = 119;
    written_add(&awaited, (recorder_event){.kind = EVENT_SLOT, .step = AWAITED, .at_us = 9 * SECOND, .took_us = 5});
    leave_all(the_master(), the_waiting(), the_server(), awaited);
    told_holds_up("worker.1", "has computed batch 117, and not sent all of it", 3);
}

/* The report is not what a server was sent before a gradient. */
static void test_who_has_reported_the_batch(void **state)
{
    (void)state;
    written awaited = the_awaited(), server = the_server();
    awaited.in_progress[0].step = 119;
    written_add(&awaited, (recorder_event){.kind = EVENT_SLOT, .step = AWAITED, .at_us = 9 * SECOND, .took_us = 5});
    written_says(&awaited, EVENT_SENT, WIRE_REPORT, PS_0, 0, AWAITED, 9);
    written_says(&server, EVENT_RECEIVED, WIRE_PUSH, WORKER_1, 4, AWAITED, 9);
    leave_all(the_master(), the_waiting(), server, awaited);
    told_holds_up("worker.1", "has computed batch 117, and not sent all of it", 1);
    written_says(&awaited, EVENT_SENT, WIRE_REPORT, MASTER, 0, AWAITED, 7);
    leave_all(the_master(), the_waiting(), server, awaited);
    told_holds_up("worker.1", "has sent what was measured of batch 117, which has not arrived: the link is slow", 1);
    awaited.in_progress[0].step = AWAITED; /* it was leased again */
    leave_all(the_master(), the_waiting(), server, awaited);
    told_holds_up("worker.1", "computes batch 117", 1);
}

/* worker.1 cannot compute batch 117, as it waits for part 9 of ps.1, which has died. */
static void test_a_chain(void **state)
{
    (void)state;
    written awaited = the_awaited(), dead = written_by(ROLE_PS, 1, RECORDING_DEATH);
    dead.head.signal = SIGBUS;
    pulls(&awaited, EVENT_SENT, PS_1, 9, AWAITED, 10);
    written_is_in(&awaited, EVENT_WAIT_PART, 0, AWAITED, 9, 10);
    written_leave(&dead, "ps.1.bin");
    leave_all(the_master(), the_waiting(), the_server(), awaited);
    told_holds_up("ps.1", "died of signal 7", 4);
}

/* --- a server, or the wire --- */

static void test_a_gradient_on_its_way(void **state)
{
    (void)state;
    written awaited = the_awaited(), server = the_server();
    written_says(&awaited, EVENT_SENT, WIRE_PUSH, PS_0, 4, AWAITED, 7);
    leave_all(the_master(), the_waiting(), server, awaited);
    told_text_says("  worker.1 has sent batch 117, for part 4, which has not arrived: the link is slow or broken; 3 ");
    written_is_in(&server, EVENT_UPDATE, -1, 70, 2, 7);
    leave_all(the_master(), the_waiting(), server, awaited);
    told_text_says("  ps.0 updates part 2 to version 70, since 7.0 s; 1 task waits for it\n");
    told_text_says_not("ps.0         waits for");
}

/* All batches below the floor are there. */
static void test_a_slow_server(void **state)
{
    (void)state;
    written server = the_server();
    written_says(&server, EVENT_RECEIVED, WIRE_PUSH, WORKER_1, 4, AWAITED, 9);
    leave_all(the_master(), the_waiting(), server, the_awaited());
    told_text_says("  ps.0 has not sent part 4 for batch 120; 1 task waits for it\n");
    written_is_in(&server, EVENT_UPDATE, -1, 70, 4, 7);
    leave_all(the_master(), the_waiting(), server, the_awaited());
    told_text_says("  ps.0 updates part 4 to version 70, since 7.0 s; 1 task waits for it\n");
    told_text_says_not("ps.0         waits for");
}

/* It has not read yet what it was asked. */
static void test_a_server_that_is_busy(void **state)
{
    (void)state;
    written server = written_by(ROLE_PS, 0, RECORDING_ASKED);
    written_is_in(&server, EVENT_UPDATE, -1, 70, 2, 9);
    leave_all(the_master(), the_waiting(), server, the_awaited());
    told_text_says("  ps.0 updates part 2 to version 70, since 9.0 s; 1 task waits for it\n");
    told_text_says_not("ps.0         waits for");
}

static void test_weights_on_their_way(void **state)
{
    (void)state;
    written server = the_server();
    written_says(&server, EVENT_SENT, WIRE_PART, WORKER_0, 4, 118, 7);
    leave_all(the_master(), the_waiting(), server, the_awaited());
    told_text_says("  ps.0 has sent part 4 for batch 120, which has not arrived");
}

/* The second lane's weights have come since, by its own connection; the first one's have not. */
static void test_lanes_ask_each_for_themselves(void **state)
{
    (void)state;
    written waiting = the_waiting(), server = the_server();
    pulls(&waiting, EVENT_SENT, PS_0_TOO, 4, 115, 7);
    written_says(&waiting, EVENT_RECEIVED, WIRE_PART, PS_0_TOO, 4, 114, 6);
    pulls(&server, EVENT_RECEIVED, WORKER_0_TOO, 4, 115, 7);
    written_says(&server, EVENT_SENT, WIRE_PART, WORKER_0_TOO, 4, 114, 6);
    leave_all(the_master(), waiting, server, the_awaited());
    told_holds_up("worker.1", "computes batch 117", 3);
    told_text_says("  ps.0         waits for batch 117, for part 4, of worker.1, since 8.0 s\n");
}

/* The lane is idle, for its gradient of part 9 was not taken. */
static void test_a_server_that_does_not_take_a_gradient(void **state)
{
    (void)state;
    written awaited = the_awaited(), master = the_master(), waiting = the_waiting(), server = the_server();
    awaited.in_progress[0].kind = EVENT_IDLE;
    written_add(&awaited, (recorder_event){.kind = EVENT_SLOT, .step = AWAITED, .at_us = 9 * SECOND, .took_us = 5});
    written_says(&awaited, EVENT_SENT, WIRE_PUSH, PS_0, 4, AWAITED, 9);
    written_says(&awaited, EVENT_RECEIVED, WIRE_PUSHED, PS_0, 4, AWAITED, 8);
    written_says(&awaited, EVENT_SENT, WIRE_PUSH, PS_1, 9, AWAITED, 9);
    written_says(&server, EVENT_RECEIVED, WIRE_PUSH, WORKER_1, 4, AWAITED, 9);
    waiting.head.n_in_progress = 0;
    leave_all(master, waiting, server, awaited);
    told_holds_up("ps.1", "has written nothing", 2);
    told_text_says("  worker.1     waits for word that part 9 of batch 117 came, of ps.1, since 9.0 s\n");
}

/* --- leases --- */

static void test_a_lease_that_was_lost(void **state)
{
    (void)state;
    written master = the_master(), busy = the_waiting();
    busy.in_progress[0].step = busy.in_progress[1].step = AWAITED;
    busy.head.n_in_progress = 1;
    leases(&master, EVENT_SENT, WORKER_0, 0, AWAITED, 3);
    leave_all(master, busy, the_server(), the_awaited());
    told_text_says_not("of batch 117, of worker.1");
    told_text_says("  worker.0 computes batch 117, since 8.0 s; 1 task waits for it\n");
    leases(&master, EVENT_SENT, WORKER_1, 0, AWAITED, 1);       /* it was not: both have it */
    leave_all(master, busy, the_server(), the_awaited());
    told_text_says("what was measured of batch 117, of worker.1");
    told_text_says("what was measured of batch 117, of worker.0");
}

/* A batch that all parts had when the era began is not leased again, though no report of it came. */
static void test_a_lease_of_another_era(void **state)
{
    (void)state;
    written master = written_by(ROLE_MASTER, 0, RECORDING_WAIT);
    leases(&master, EVENT_SENT, WORKER_1, 0, 100, 30);
    leases(&master, EVENT_SENT, WORKER_1, 0, AWAITED, 12);
    leave_all(master, the_waiting(), the_server(), the_awaited());
    told_holds_up("worker.1", "computes batch 117", 3);
    told_text_says_not("batch 100");
}

/* Without a word of the master workers tell what they have; where nobody does, it is not known who. */
static void test_a_master_that_has_left_nothing(void **state)
{
    (void)state;
    written waiting = the_waiting(), server = the_server(), awaited = the_awaited();
    written_leave(&waiting, "worker.0.bin");
    written_leave(&server, "ps.0.bin");
    leases(&waiting, EVENT_RECEIVED, MASTER, 0, BATCH, 9);
    written_leave(&waiting, "worker.0.bin");
    told_text_says("  it is not known who");
    told_text_says("  ps.0         waits for all batches below 118, for part 4, since 8.0 s\n");
    written_leave(&awaited, "worker.1.bin");
    told_holds_up("worker.1", "computes batch 117", 2);
    written_says(&awaited, EVENT_SENT, WIRE_REPORT, PS_0, 0, AWAITED, 5);       /* in front of a gradient */
    written_leave(&awaited, "worker.1.bin");
    told_holds_up("worker.1", "computes batch 117", 2);
    written_says(&awaited, EVENT_SENT, WIRE_REPORT, MASTER, 0, AWAITED, 5);
    written_leave(&awaited, "worker.1.bin");
    told_text_says_not("computes batch 117");
}

/* --- nobody waits --- */

/* Asked by SIGUSR1: batches are out, of which the lowest is the slower worker's. */
static written the_asked_master(void)
{
    written w = the_master();
    w.head.reason = RECORDING_SIGNAL;
    return w;
}

static written a_computing_worker(void)
{
    written w = written_by(ROLE_WORKER, 0, RECORDING_SIGNAL);
    written_is_in(&w, EVENT_SLOT, 0, BATCH, 0, 0.02);
    return w;
}

static void test_async_nobody_waits(void **state)
{
    (void)state;
    written master = the_asked_master(), busy = a_computing_worker();
    written server = written_by(ROLE_PS, 0, RECORDING_SIGNAL);
    leave_all(master, busy, server, the_awaited());
    told_text_says("  nobody holds up the others");
    told_text_says_not("waits for what was measured");
    told_text_says_not("computes batch 117");
    master.head.reason = RECORDING_WAIT; /* worker.1 is late */
    leave_all(master, busy, server, the_awaited());
    told_holds_up("worker.1", "computes batch 117", 1);
}

/* It is stopped, and the others have batches; then a lane finds none. */
static void test_async_nobody_waits_for_one_that_is_stopped(void **state)
{
    (void)state;
    written master = the_asked_master(), busy = a_computing_worker();
    written idle = written_by(ROLE_WORKER, 0, RECORDING_SIGNAL);
    written_leave(&master, "master.0.bin");
    written_leave(&busy, "worker.0.bin");
    told_text_says("  nobody holds up the others");
    written_says(&master, EVENT_RECEIVED, WIRE_REPORT, WORKER_0, 0, BATCH, 2);
    written_is_in(&idle, EVENT_IDLE, 0, -1, 0, 2);
    written_leave(&master, "master.0.bin");
    written_leave(&idle, "worker.0.bin");
    told_holds_up("worker.1", "has written nothing: it hangs or is stopped", 2);
    told_text_says("  master.0     waits for what was measured of batch 117, of worker.1, since 12.0 s\n");
}

/* --- a lane without a batch --- */

static written idle_worker(void)
{
    written w = written_by(ROLE_WORKER, 0, RECORDING_ASKED);
    written_is_in(&w, EVENT_IDLE, 0, -1, 0, 6);
    return w;
}

static void test_a_lane_without_a_batch(void **state)
{
    (void)state;
    written master = the_master(), shard = written_by(ROLE_PS, 1, RECORDING_ASKED);
    written_says(&master, EVENT_RECEIVED, WIRE_REPORT, WORKER_0, 0, BATCH, 4);
    leave_all(master, idle_worker(), the_server(), the_awaited());
    told_holds_up("worker.1", "computes batch 117", 2);
    told_text_says("  worker.0     waits for a batch to compute, of master.0, since 6.0 s\n");
    for (int64_t batch = AWAITED; batch < BATCH; batch++)
        written_says(&master, EVENT_RECEIVED, WIRE_REPORT, WORKER_1, 0, batch, 3);
    leave_all(master, idle_worker(), the_server(), idle_worker());
    told_holds_up("master.0", "leases no batch", 1);
    written_says(&master, EVENT_SENT, WIRE_CUT, PS_1, 0, 120, 3);
    written_says(&master, EVENT_SENT, WIRE_CUT, PS_1, 0, 140, 3);
    leave_all(master, idle_worker(), the_server(), idle_worker());
    told_holds_up("master.0", "leases no batch", 1);
    written_add(&master, (recorder_event){.kind = EVENT_STEP_DONE, .lane = -1, .step = 121, .at_us = 3 * SECOND});
    written_is_in(&shard, EVENT_WRITE_SHARD, -1, 120, 1, 2);
    written_leave(&shard, "ps.1.bin");
    leave_all(master, idle_worker(), the_server(), idle_worker());
    told_holds_up("ps.1", "writes its shard of the checkpoint of step 120", 2);
}

/* All count whose lanes wait, though the master is followed but for the first. */
static void test_lanes_without_a_batch(void **state)
{
    (void)state;
    written master = written_by(ROLE_MASTER, 0, RECORDING_SIGNAL), shard = written_by(ROLE_PS, 1, RECORDING_ASKED);
    written first = idle_worker(), second = written_by(ROLE_WORKER, 1, RECORDING_ASKED);
    leases(&first, EVENT_RECEIVED, MASTER, 0, 116, 20);
    written_says(&master, EVENT_SENT, WIRE_CUT, PS_1, 0, 120, 3);
    written_add(&master, (recorder_event){.kind = EVENT_STEP_DONE, .lane = -1, .step = 120, .at_us = 3 * SECOND});
    written_is_in(&shard, EVENT_WRITE_SHARD, -1, 120, 1, 2);
    written_is_in(&second, EVENT_IDLE, 0, -1, 0, 5);
    written_is_in(&second, EVENT_IDLE, 1, -1, 0, 4);
    written_leave(&shard, "ps.1.bin");
    leave_all(master, first, the_server(), second);
    told_holds_up("ps.1", "writes its shard of the checkpoint of step 120", 3);
}

/* It has not begun what it was leased, as ps.1, which is stopped, does not send the weights. */
static void test_an_idle_lane_whose_weights_do_not_come(void **state)
{
    (void)state;
    written waiting = idle_worker();
    pulls(&waiting, EVENT_SENT, PS_1, 9, BATCH, 7);
    leave_all(the_master(), waiting, written_by(ROLE_PS, 0, RECORDING_ASKED), the_awaited());
    told_text_says("  ps.1 has written nothing: it hangs or is stopped");
    told_text_says("  worker.0     waits for part 9 for batch 120, of ps.1, since 7.0 s\n");
    told_text_says_not("waits for a batch to compute");
}

static void test_a_lane_without_a_batch_before_an_evaluation(void **state)
{
    (void)state;
    written master = written_by(ROLE_MASTER, 0, RECORDING_WAIT), waiting = idle_worker();
    written evaluator = written_by(ROLE_EVALUATOR, 0, RECORDING_SIGNAL);
    leases(&waiting, EVENT_RECEIVED, MASTER, 0, 116, 20);
    snprintf(master.head.text, sizeof master.head.text, "for=evaluation of the epoch before step=120");
    written_is_in(&evaluator, EVENT_EVALUATE, -1, 120, 0, 4);
    written_leave(&master, "master.0.bin");
    written_leave(&waiting, "worker.0.bin");
    written_leave(&evaluator, "evaluator.0.bin");
    told_holds_up("evaluator.0", "evaluates step 120", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_who_has_the_batch_and_computes_it, written_set_up),
        cmocka_unit_test_setup(test_who_has_the_batch_and_is_stopped, written_set_up),
        cmocka_unit_test_setup(test_who_has_the_batch_and_has_died, written_set_up),
        cmocka_unit_test_setup(test_who_has_the_batch_and_lacks_examples, written_set_up),
        cmocka_unit_test_setup(test_who_has_the_batch_and_has_not_begun_it, written_set_up),
        cmocka_unit_test_setup(test_who_has_computed_the_batch, written_set_up),
        cmocka_unit_test_setup(test_who_has_reported_the_batch, written_set_up),
        cmocka_unit_test_setup(test_a_chain, written_set_up),
        cmocka_unit_test_setup(test_a_gradient_on_its_way, written_set_up),
        cmocka_unit_test_setup(test_a_slow_server, written_set_up),
        cmocka_unit_test_setup(test_a_server_that_is_busy, written_set_up),
        cmocka_unit_test_setup(test_weights_on_their_way, written_set_up),
        cmocka_unit_test_setup(test_lanes_ask_each_for_themselves, written_set_up),
        cmocka_unit_test_setup(test_a_server_that_does_not_take_a_gradient, written_set_up),
        cmocka_unit_test_setup(test_a_lease_that_was_lost, written_set_up),
        cmocka_unit_test_setup(test_a_lease_of_another_era, written_set_up),
        cmocka_unit_test_setup(test_a_master_that_has_left_nothing, written_set_up),
        cmocka_unit_test_setup(test_async_nobody_waits, written_set_up),
        cmocka_unit_test_setup(test_async_nobody_waits_for_one_that_is_stopped, written_set_up),
        cmocka_unit_test_setup(test_a_lane_without_a_batch, written_set_up),
        cmocka_unit_test_setup(test_lanes_without_a_batch, written_set_up),
        cmocka_unit_test_setup(test_an_idle_lane_whose_weights_do_not_come, written_set_up),
        cmocka_unit_test_setup(test_a_lane_without_a_batch_before_an_evaluation, written_set_up),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
