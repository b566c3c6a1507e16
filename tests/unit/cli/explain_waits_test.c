/* Who holds up the others, by what tasks have written: two workers, two servers, and each time another cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "support/folder.h"
#include "unit/cli/support_written.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* --- what most cases have --- */

/* It has computed its slot, and waits for version 42 of part 4. */
static written waiting_worker(int32_t index)
{
    written w = written_by(ROLE_WORKER, index, RECORDING_WAIT);
    written_pushes(&w, EVENT_SENT, PS_0, 4, 41, (uint32_t)index);
    written_says(&w, EVENT_SENT, WIRE_PULL, PS_0, 4, 42, 8);
    written_says(&w, EVENT_SENT, WIRE_PULL, PS_0, 4, 42, 1); /* said again */
    written_is_in(&w, EVENT_SLOT, 0, 42, index, 8);
    written_is_in(&w, EVENT_WAIT_PART, 0, 42, 4, 8);
    return w;
}

/* It has version 41 of parts 4 and 5, and of step 41 the first slot. */
static written waiting_server(void)
{
    written w = written_by(ROLE_PS, 0, RECORDING_ASKED);
    for (int part = 4; part <= 5; part++) {
        written_add(&w, (recorder_event){.kind = EVENT_UPDATE, .lane = -1, .a = part, .step = 41,
                                         .at_us = 10 * SECOND});
        written_pushes(&w, EVENT_RECEIVED, WORKER_0, part, 41, 0);
        written_says(&w, EVENT_RECEIVED, WIRE_PULL, WORKER_0, part, 42, 8);
    }
    return w;
}

static written busy_worker(void)
{
    written w = written_by(ROLE_WORKER, 1, RECORDING_ASKED);
    written_is_in(&w, EVENT_SLOT, 0, 41, 1, 12);
    return w;
}

static void leave_waiting(const written *server)
{
    written master = written_by(ROLE_MASTER, 0, RECORDING_WAIT), first = waiting_worker(0);
    for (int32_t i = 0; i < 2; i++)
        written_add(&master, (recorder_event){.kind = EVENT_OWNER, .lane = -1, .a = i, .b = i, .step = -1});
    written_leave(&master, "master.0.bin");
    written_leave(&first, "worker.0.bin");
    if (server) {
        written w = *server;
        written_leave(&w, "ps.0.bin");
    }
}

static void test_nothing_was_written(void **state)
{
    (void)state;
    assert_null(told_waits());
}

static void test_one_who_computes(void **state)
{
    (void)state;
    written server = waiting_server(), busy = busy_worker();
    leave_waiting(&server);
    written_leave(&busy, "worker.1.bin");
    told_holds_up("worker.1", "computes slot 1 of step 41", 2);
    told_text_says("  worker.1 computes slot 1 of step 41, since 12.0 s; 2 tasks wait for it\n");
    told_text_says("  worker.0     waits for version 42 of part 4, of ps.0, since 8.0 s\n");
    told_text_says("  ps.0         waits for slot 1 of step 41, for part 4, of worker.1, since 8.0 s\n");
    told_text_says("  ps.1         has written nothing of this moment\n");
}

static void test_one_who_has_left_nothing(void **state)
{
    (void)state;
    written server = waiting_server(), old = busy_worker();
    leave_waiting(&server);
    told_holds_up("worker.1", "has written nothing: it hangs or is stopped", 2);
    old.head.wall_us -= 60 * INT64_C(1000000);
    written_leave(&old, "worker.1.bin");
    told_holds_up("worker.1", "only long before", 2);
}

/* One has written once more since: what it wrote beside the others counts. */
static void test_the_moment_at_which_most_have_written(void **state)
{
    (void)state;
    written server = waiting_server(), then = busy_worker(), since = written_by(ROLE_WORKER, 1, RECORDING_SIGNAL);
    leave_waiting(&server);
    since.head.wall_us += 12 * SECOND;
    written_leave(&since, "worker.1.bin");
    written_leave(&then, "worker.1.1.bin");
    told_holds_up("worker.1", "computes slot 1 of step 41", 2);
}

/* The time of day is an hour less a bit behind on worker.1's host, whose clock began elsewhere. */
static void test_hosts_whose_clocks_differ(void **state)
{
    (void)state;
    written server = waiting_server(), busy = busy_worker();
    leave_waiting(&server);
    busy.head.wall_us -= 3000 * INT64_C(1000000);
    written_leave(&busy, "worker.1.bin");
    told_holds_up("worker.1", "only long before", 2);
    busy.head.error_us = 100;
    busy.head.offset_us = 5;
    written_leave(&busy, "worker.1.bin");
    told_holds_up("worker.1", "computes slot 1 of step 41", 2);
    busy.head.offset_us = INT64_C(1) << 50;     /* of another master's clock */
    written_leave(&busy, "worker.1.bin");
    told_holds_up("worker.1", "only long before", 2);
}

static void test_a_server_that_has_left_nothing(void **state)
{
    (void)state;
    written second = waiting_worker(1);
    leave_waiting(NULL);
    written_leave(&second, "worker.1.bin");
    told_holds_up("ps.0", "has written nothing", 2);
}

static void test_a_server_that_died(void **state)
{
    (void)state;
    written server = waiting_server(), second = waiting_worker(1);
    server.head.reason = RECORDING_DEATH;
    server.head.signal = SIGSEGV;
    leave_waiting(&server);
    written_leave(&second, "worker.1.bin");
    told_holds_up("ps.0", "died of signal 11 (Segmentation fault)", 2);
}

static void test_one_who_died_while_nobody_waited(void **state)
{
    (void)state;
    written server = written_by(ROLE_PS, 1, RECORDING_DEATH);
    server.head.signal = SIGABRT;
    written_leave(&server, "ps.1.bin");
    told_holds_up("ps.1", "died of signal 6", 0);
}

static void test_one_who_waits_for_examples(void **state)
{
    (void)state;
    written server = waiting_server(), busy = busy_worker();
    written_is_in(&busy, EVENT_LOAD, 0, 41, 0, 11);
    leave_waiting(&server);
    written_leave(&busy, "worker.1.bin");
    told_holds_up("worker.1", "waits for the examples of batch 7, for slot 1 of step 41", 2);
}

static void test_what_is_on_its_way(void **state)
{
    (void)state;
    written server = waiting_server(), second = waiting_worker(1);
    leave_waiting(&server);
    written_leave(&second, "worker.1.bin");
    told_holds_up("worker.1", "has sent slot 1 of step 41, which has not arrived", 2);
    server = waiting_server();
    written_add(&server, (recorder_event){.kind = EVENT_UPDATE, .lane = -1, .a = 4, .step = 42, .at_us = 7 * SECOND});
    written_says(&server, EVENT_SENT, WIRE_PART, WORKER_0, 4, 42, 7);
    written_leave(&server, "ps.0.bin");
    told_holds_up("ps.0", "has sent part 4 of version 42, which has not arrived", 2);
}

static void test_a_server_that_updates(void **state)
{
    (void)state;
    written server = waiting_server(), second = waiting_worker(1);
    written_pushes(&server, EVENT_RECEIVED, WORKER_1, 4, 41, 1);
    written_is_in(&server, EVENT_UPDATE, -1, 42, 4, 6);
    leave_waiting(&server);
    written_leave(&second, "worker.1.bin");
    told_holds_up("ps.0", "updates part 4 to version 42", 2);
}

/* ps.0 has made version 42, and may not answer it before ps.1 has it too, which is stopped. */
static void test_a_standby(void **state)
{
    (void)state;
    written server = waiting_server();
    written_add(&server, (recorder_event){.kind = EVENT_UPDATE, .lane = -1, .a = 4, .step = 42, .at_us = 7 * SECOND});
    written_says(&server, EVENT_SENT, WIRE_PUSH, PS_1, 4, 41, 7);
    leave_waiting(&server);
    told_holds_up("ps.1", "has written nothing", 2);
    told_text_says("  ps.0         waits for its standby to have version 42 of part 4, of ps.1, since 7.0 s\n");
    written_says(&server, EVENT_RECEIVED, WIRE_PUSHED, PS_1, 4, 41, 6);
    written_leave(&server, "ps.0.bin");
    told_holds_up("ps.0", "has part 4 at version 42, and has not sent it", 1);
}

/* ps.0 has all gradients of part 4, and has sent its norm. */
static written server_before_verdict(void)
{
    written server = waiting_server();
    written_pushes(&server, EVENT_RECEIVED, WORKER_1, 4, 41, 1);
    written_says(&server, EVENT_SENT, WIRE_NORM, MASTER, 4, 41, 7);
    return server;
}

static void test_a_verdict(void **state)
{
    (void)state;
    written server = server_before_verdict(), second = waiting_worker(1);
    written master = written_by(ROLE_MASTER, 0, RECORDING_WAIT);
    told_slots = json_pack("[{s:s, s:i}, {s:s, s:i}]", "task", "worker.0", "lane", 0, "task", "worker.1", "lane", 0);
    written_leave(&server, "ps.0.bin");
    written_leave(&second, "worker.1.bin");
    told_holds_up("master.0", "has written nothing", 3);
    told_text_says("  ps.0         waits for the verdict on step 41, for part 4, of master.0, since 8.0 s\n");
    written_says(&master, EVENT_RECEIVED, WIRE_NORM, PS_0, 4, 41, 6);
    written_leave(&master, "master.0.bin");
    told_holds_up("master.0", "has not said the verdict on step 41", 3);
    told_text_says("  master.0 has not said the verdict on step 41; 3 tasks wait for it\n");
    written_says(&master, EVENT_SENT, WIRE_VERDICT, PS_0, -1, 41, 6);
    written_leave(&master, "master.0.bin");
    told_holds_up("master.0", "has said the verdict on step 41, which has not arrived", 3);
    master.head.reason = RECORDING_DEATH;
    master.head.signal = SIGKILL;
    written_leave(&master, "master.0.bin");
    told_holds_up("master.0", "died of signal 9", 3);
    json_decref(told_slots);
    told_slots = NULL;
}

/* ps.1 had sent the norm of its part of step 40, and waits for the gradient of worker.1. */
static void test_a_verdict_that_lacks_a_norm(void **state)
{
    (void)state;
    written first = server_before_verdict(), second = written_by(ROLE_PS, 1, RECORDING_ASKED), busy = busy_worker();
    written master = written_by(ROLE_MASTER, 0, RECORDING_WAIT), waiting = waiting_worker(0);
    for (int32_t i = 0; i < 2; i++)
        written_add(&master, (recorder_event){.kind = EVENT_OWNER, .lane = -1, .a = i, .b = i, .step = -1});
    written_says(&master, EVENT_RECEIVED, WIRE_NORM, PS_0, 4, 40, 12);
    written_says(&master, EVENT_RECEIVED, WIRE_NORM, PS_1, 9, 40, 12);
    written_says(&master, EVENT_RECEIVED, WIRE_NORM, PS_0, 4, 41, 6);
    written_pushes(&second, EVENT_RECEIVED, WORKER_0, 9, 41, 0);
    written_leave(&master, "master.0.bin");
    written_leave(&waiting, "worker.0.bin");
    written_leave(&first, "ps.0.bin");
    told_holds_up("ps.1", "has written nothing", 3);
    written_leave(&second, "ps.1.bin");
    written_leave(&busy, "worker.1.bin");
    told_holds_up("worker.1", "computes slot 1 of step 41", 4);
    told_text_says("  master.0     waits for the norm of step 41, of part 9, of ps.1, since 8.0 s\n");
    told_text_says_not("has not said the verdict");
    written_pushes(&second, EVENT_RECEIVED, WORKER_1, 9, 41, 1);
    written_says(&second, EVENT_SENT, WIRE_NORM, MASTER, 9, 41, 5);
    written_leave(&second, "ps.1.bin");
    told_holds_up("ps.1", "has sent the norm of part 9 of step 41, which has not arrived", 3);
}

/* worker.1 waits for part 9 of ps.0, which waits for worker.0, which waits for part 4, which waits for worker.1. */
static void test_a_cycle(void **state)
{
    (void)state;
    written server = waiting_server(), second = written_by(ROLE_WORKER, 1, RECORDING_ASKED);
    written_add(&server, (recorder_event){.kind = EVENT_UPDATE, .lane = -1, .a = 9, .step = 40, .at_us = 12 * SECOND});
    written_pushes(&server, EVENT_RECEIVED, WORKER_1, 9, 40, 1);
    written_is_in(&second, EVENT_SLOT, 0, 41, 1, 12);
    written_is_in(&second, EVENT_WAIT_PART, 0, 41, 9, 11);
    written_says(&second, EVENT_SENT, WIRE_PULL, PS_0, 9, 41, 11);
    leave_waiting(&server);
    written_leave(&second, "worker.1.bin");
    told_text_says("  it is not known who: tasks wait for each other in a cycle, or for one that is not known\n");
    told_text_says_not("nobody holds up");
}

/* worker.1 cannot compute step 41, as it waits for part 9 of ps.1, which has died. */
static void test_a_chain(void **state)
{
    (void)state;
    written server = waiting_server(), busy = busy_worker(), dead = written_by(ROLE_PS, 1, RECORDING_DEATH);
    dead.head.signal = SIGBUS;
    written_is_in(&busy, EVENT_WAIT_PART, 0, 41, 9, 11);
    written_says(&busy, EVENT_SENT, WIRE_PULL, PS_1, 9, 41, 11);
    leave_waiting(&server);
    written_leave(&busy, "worker.1.bin");
    written_leave(&dead, "ps.1.bin");
    told_holds_up("ps.1", "died of signal 7", 3);
}

static void test_leave_to_go_on(void **state)
{
    (void)state;
    written first = written_by(ROLE_WORKER, 0, RECORDING_ASKED), master = written_by(ROLE_MASTER, 0, RECORDING_WAIT);
    written server = written_by(ROLE_PS, 1, RECORDING_ASKED);
    written_says(&first, EVENT_RECEIVED, WIRE_ALIVE, MASTER, 0, 50, 3);
    written_add(&first, (recorder_event){.kind = EVENT_HELD, .lane = -1, .step = 50, .at_us = 5 * SECOND});
    written_is_in(&first, EVENT_IDLE, 0, -1, 0, 5);
    written_says(&master, EVENT_SENT, WIRE_CUT, PS_0, 0, 50, 9);
    written_says(&master, EVENT_SENT, WIRE_CUT, PS_1, 0, 50, 9);
    written_says(&master, EVENT_RECEIVED, WIRE_CUT_DONE, PS_0, 0, 50, 6);
    written_add(&master, (recorder_event){.kind = EVENT_OWNER, .lane = -1, .b = 0, .step = -1});
    written_add(&master, (recorder_event){.kind = EVENT_STEP_DONE, .lane = -1, .step = 50, .at_us = 5 * SECOND});
    written_is_in(&server, EVENT_WRITE_SHARD, -1, 50, 1, 8);
    written_leave(&first, "worker.0.bin");
    written_leave(&master, "master.0.bin");
    written_leave(&server, "ps.1.bin");
    told_holds_up("ps.1", "writes its shard of the checkpoint of step 50", 2);
    told_text_says("  worker.0     waits for leave to go on behind version 50, of master.0, since 5.0 s\n");
    told_text_says_not("has not begun");
    written second = first; /* it waits for the same */
    second.head.index = second.head.indexes[ROLE_WORKER] = 1;
    written_leave(&second, "worker.1.bin");
    told_holds_up("ps.1", "writes its shard of the checkpoint of step 50", 3);
    master.head.n_events = 0;
    snprintf(master.head.text, sizeof master.head.text, "for=evaluation of the epoch before step=50");
    written_leave(&master, "master.0.bin");
    written evaluator = written_by(ROLE_EVALUATOR, 0, RECORDING_SIGNAL);
    written_is_in(&evaluator, EVENT_EVALUATE, -1, 50, 0, 4);
    written_leave(&evaluator, "evaluator.0.bin");
    told_holds_up("evaluator.0", "evaluates step 50", 3);
}

/* The only worker is stopped before it has asked for anything. */
static void test_reports_that_the_master_lacks(void **state)
{
    (void)state;
    written master = written_by(ROLE_MASTER, 0, RECORDING_WAIT);
    written_add(&master, (recorder_event){.kind = EVENT_OWNER, .lane = -1, .b = 0, .step = -1, .at_us = 9 * SECOND});
    written_add(&master, (recorder_event){.kind = EVENT_STEP_DONE, .lane = -1, .step = 41, .at_us = 4 * SECOND});
    written_leave(&master, "master.0.bin");
    told_holds_up("worker.0", "has written nothing", 1);
    told_text_says("  master.0     waits for what was measured of slot 0 of step 41, of worker.0, since 4.0 s\n");
}

static void test_short_waits_hold_up_nobody(void **state)
{
    (void)state;
    written w = written_by(ROLE_WORKER, 0, RECORDING_SIGNAL);
    written_says(&w, EVENT_SENT, WIRE_PULL, PS_0, 4, 42, 0.01);
    written_is_in(&w, EVENT_SLOT, 0, 42, 0, 0.02);
    written_is_in(&w, EVENT_WAIT_PART, 0, 42, 4, 0.01);
    written_leave(&w, "worker.0.bin");
    told_text_says("nobody holds up the others");
}

static void test_damaged_files_are_refused_by_name(void **state)
{
    (void)state;
    written server = waiting_server(), busy = busy_worker();
    char *path = folder_file("log/events/worker.1.1.bin");
    leave_waiting(&server);
    written_leave(&busy, "worker.1.bin");
    assert_int_equal(fs_write_atomic(path, "nothing", 7, NULL), OK);
    told_text_says("refused: '");
    told_text_says("log/events/worker.1.1.bin': it has 7 bytes, fewer than its head\n");
    told_holds_up("worker.1", "computes slot 1 of step 41", 2);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_was_written, written_set_up),
        cmocka_unit_test_setup(test_one_who_computes, written_set_up),
        cmocka_unit_test_setup(test_one_who_has_left_nothing, written_set_up),
        cmocka_unit_test_setup(test_the_moment_at_which_most_have_written, written_set_up),
        cmocka_unit_test_setup(test_hosts_whose_clocks_differ, written_set_up),
        cmocka_unit_test_setup(test_a_server_that_has_left_nothing, written_set_up),
        cmocka_unit_test_setup(test_a_server_that_died, written_set_up),
        cmocka_unit_test_setup(test_one_who_died_while_nobody_waited, written_set_up),
        cmocka_unit_test_setup(test_one_who_waits_for_examples, written_set_up),
        cmocka_unit_test_setup(test_what_is_on_its_way, written_set_up),
        cmocka_unit_test_setup(test_a_server_that_updates, written_set_up),
        cmocka_unit_test_setup(test_a_standby, written_set_up),
        cmocka_unit_test_setup(test_a_verdict, written_set_up),
        cmocka_unit_test_setup(test_a_verdict_that_lacks_a_norm, written_set_up),
        cmocka_unit_test_setup(test_a_cycle, written_set_up),
        cmocka_unit_test_setup(test_a_chain, written_set_up),
        cmocka_unit_test_setup(test_leave_to_go_on, written_set_up),
        cmocka_unit_test_setup(test_reports_that_the_master_lacks, written_set_up),
        cmocka_unit_test_setup(test_short_waits_hold_up_nobody, written_set_up),
        cmocka_unit_test_setup(test_damaged_files_are_refused_by_name, written_set_up),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
