/* Who holds up the others, by what tasks have written: two workers, two servers, and each time another cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/look/explain_waits.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/live/recording.h"
#include "common/wire/wire.h"
#include "support/folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- files --- */

enum { MOST = 32, NOW = 100 * 1000000, SECOND = 1000000 };

/* Peers are called by their tasks: 100 times the role, and the index. */
enum { MASTER = 0, WORKER_0 = 100, WORKER_1 = 101, PS_0 = 200, PS_1 = 201 };

typedef struct written {
    recording_head head;
    recording_event in_progress[MOST], events[MOST];
} written;

static written by(role of, int32_t index, recording_reason why)
{
    written w = {.head = {.version = RECORDING_VERSION, .kinds = recording_kinds(), .reason = why, .role = (int32_t)of,
                          .index = index, .indexes = {-1, -1, -1, -1}, .pid = 1, .at_us = NOW,
                          .wall_us = INT64_C(1700000000) * SECOND, .error_us = -1, .host = "one"}};
    memcpy(w.head.magic, RECORDING_MAGIC, sizeof w.head.magic);
    w.head.indexes[of] = index;
    return w;
}

static void add(written *w, recorder_event e)
{
    bool lasts = e.took_us < 0;
    recording_event *to = lasts ? &w->in_progress[w->head.n_in_progress++] : &w->events[w->head.n_events++];
    *to = (recording_event){.at_us = NOW - e.at_us, .took_us = e.took_us, .step = e.step, .c = e.c, .a = e.a, .b = e.b,
                            .kind = (uint16_t)e.kind, .lane = (int16_t)e.lane};
}

/* So many seconds before the file was written, like `since`. */
static void says(written *w, recorder_kind kind, wire_type type, int peer, int part, int64_t step, double ago_s)
{
    add(w, (recorder_event){.kind = kind, .a = (int32_t)type, .b = peer, .lane = part, .step = step,
                            .at_us = (int64_t)(ago_s * SECOND)});
}

/* Of a step of two slots: the gradient of one. */
static void pushes(written *w, recorder_kind kind, int peer, int part, int64_t step, uint32_t slot)
{
    add(w, (recorder_event){.kind = kind, .a = WIRE_PUSH, .b = peer, .lane = part, .step = step, .at_us = 9 * SECOND,
                            .c = (int64_t)((uint64_t)slot << 43 | UINT64_C(2) << 27)});
}

static void is_in(written *w, recorder_kind kind, int lane, int64_t step, int a, double since_s)
{
    add(w, (recorder_event){.kind = kind, .lane = lane, .step = step, .a = a, .took_us = -1, .c = 7,
                            .at_us = (int64_t)(since_s * SECOND)});
}

static void leave(written *w, const char *name)
{
    static const int all[] = {MASTER, WORKER_0, WORKER_1, PS_0, PS_1};
    buf file = BUF_INIT;
    char *path = folder_file("log/events/%s", name);
    w->head.n_peers = COUNT_OF(all);
    buf_add(&file, &w->head, sizeof w->head);
    buf_add(&file, w->in_progress, w->head.n_in_progress * sizeof w->in_progress[0]);
    for (size_t i = 0; i < COUNT_OF(all); i++)
        buf_add(&file, &(recording_peer){.peer = (uint32_t)all[i], .role = all[i] / 100, .index = all[i] % 100},
                sizeof(recording_peer));
    buf_add(&file, w->events, w->head.n_events * sizeof w->events[0]);
    recording_head *head = (recording_head *)(void *)file.data;
    head->checksum = crc32c(crc32c(0, file.data + sizeof *head, file.size - sizeof *head), &w->head, sizeof w->head);
    assert_int_equal(fs_write_atomic(path, file.data, file.size, NULL), OK);
    buf_fini(&file);
    free(path);
}

/* --- what most cases have --- */

/* It has computed its slot, and waits for version 42 of part 4. */
static written waiting_worker(int32_t index)
{
    written w = by(ROLE_WORKER, index, RECORDING_WAIT);
    pushes(&w, EVENT_SENT, PS_0, 4, 41, (uint32_t)index);
    says(&w, EVENT_SENT, WIRE_PULL, PS_0, 4, 42, 8);
    says(&w, EVENT_SENT, WIRE_PULL, PS_0, 4, 42, 1); /* said again */
    is_in(&w, EVENT_SLOT, 0, 42, index, 8);
    is_in(&w, EVENT_WAIT_PART, 0, 42, 4, 8);
    return w;
}

/* It has version 41 of parts 4 and 5, and of step 41 the first slot. */
static written waiting_server(void)
{
    written w = by(ROLE_PS, 0, RECORDING_ASKED);
    for (int part = 4; part <= 5; part++) {
        add(&w, (recorder_event){.kind = EVENT_UPDATE, .lane = -1, .a = part, .step = 41, .at_us = 10 * SECOND});
        pushes(&w, EVENT_RECEIVED, WORKER_0, part, 41, 0);
        says(&w, EVENT_RECEIVED, WIRE_PULL, WORKER_0, part, 42, 8);
    }
    return w;
}

static written busy_worker(void)
{
    written w = by(ROLE_WORKER, 1, RECORDING_ASKED);
    is_in(&w, EVENT_SLOT, 0, 41, 1, 12);
    return w;
}

static void leave_waiting(const written *server)
{
    written master = by(ROLE_MASTER, 0, RECORDING_WAIT), first = waiting_worker(0);
    for (int32_t i = 0; i < 2; i++)
        add(&master, (recorder_event){.kind = EVENT_OWNER, .lane = -1, .a = i, .b = i, .step = -1});
    leave(&master, "master.0.bin");
    leave(&first, "worker.0.bin");
    if (server) {
        written w = *server;
        leave(&w, "ps.0.bin");
    }
}

/* --- what is told --- */

static json_t *slots;           /* of live.json; NULL: it has none */

static json_t *explain(void)
{
    json_t *live = json_pack("{s:[{s:s},{s:s}], s:[{s:s},{s:s}], s:O*}", "workers", "task", "worker.0", "task",
                             "worker.1", "servers", "task", "ps.0", "task", "ps.1", "slots", slots);
    json_t *told = NULL;
    error err = ERROR_INIT;
    if (explain_waits(folder_path(), live, &told, &err) != OK)
        fail_msg("%s", err.text);
    json_decref(live);
    return told;
}

static void holds_up(const char *who, const char *does, int waiters)
{
    json_t *told = explain();
    const json_t *end = json_array_get(json_object_get(told, "held_up_by"), 0);
    if (!end)
        fail_msg("nobody holds up the others");
    assert_string_equal(json_string_value(json_object_get(end, "task")), who);
    if (!strstr(json_string_value(json_object_get(end, "does")), does))
        fail_msg("'%s' does not say '%s'", json_string_value(json_object_get(end, "does")), does);
    assert_int_equal(json_integer_value(json_object_get(end, "waiters")), waiters);
    json_decref(told);
}

static bool is_in_text(const char *what)
{
    json_t *told = explain();
    buf text = BUF_INIT;
    explain_waits_text(told, &text);
    bool is = strstr(text.data, what) != NULL;
    if (!is)
        print_message("%s", text.data);
    buf_fini(&text);
    json_decref(told);
    return is;
}

static void text_says(const char *what)
{
    if (!is_in_text(what))
        fail_msg("it does not say '%s'", what);
}

static void text_says_not(const char *what)
{
    assert_false(is_in_text(what));
}

static int set_up(void **state)
{
    (void)state;
    char *log = folder_file("log/events");
    int failed = fs_remove_tree(log, NULL) != OK || fs_mkdirs(log, NULL) != OK;
    free(log);
    return failed;
}

static void test_nothing_was_written(void **state)
{
    (void)state;
    assert_null(explain());
}

static void test_one_who_computes(void **state)
{
    (void)state;
    written server = waiting_server(), busy = busy_worker();
    leave_waiting(&server);
    leave(&busy, "worker.1.bin");
    holds_up("worker.1", "computes slot 1 of step 41", 2);
    text_says("  worker.1 computes slot 1 of step 41, since 12.0 s; 2 tasks wait for it\n");
    text_says("  worker.0     waits for version 42 of part 4, of ps.0, since 8.0 s\n");
    text_says("  ps.0         waits for slot 1 of step 41, for part 4, of worker.1, since 8.0 s\n");
    text_says("  ps.1         has written nothing of this moment\n");
}

static void test_one_who_has_left_nothing(void **state)
{
    (void)state;
    written server = waiting_server(), old = busy_worker();
    leave_waiting(&server);
    holds_up("worker.1", "has written nothing: it hangs or is stopped", 2);
    old.head.wall_us -= 60 * INT64_C(1000000);
    leave(&old, "worker.1.bin");
    holds_up("worker.1", "only long before", 2);
}

/* One has written once more since: what it wrote beside the others counts. */
static void test_the_moment_at_which_most_have_written(void **state)
{
    (void)state;
    written server = waiting_server(), then = busy_worker(), since = by(ROLE_WORKER, 1, RECORDING_SIGNAL);
    leave_waiting(&server);
    since.head.wall_us += 12 * SECOND;
    leave(&since, "worker.1.bin");
    leave(&then, "worker.1.1.bin");
    holds_up("worker.1", "computes slot 1 of step 41", 2);
}

/* The time of day is an hour less a bit behind on worker.1's host, whose clock began elsewhere. */
static void test_hosts_whose_clocks_differ(void **state)
{
    (void)state;
    written server = waiting_server(), busy = busy_worker();
    leave_waiting(&server);
    busy.head.wall_us -= 3000 * INT64_C(1000000);
    leave(&busy, "worker.1.bin");
    holds_up("worker.1", "only long before", 2);
    busy.head.error_us = 100;
    busy.head.offset_us = 5;
    leave(&busy, "worker.1.bin");
    holds_up("worker.1", "computes slot 1 of step 41", 2);
    busy.head.offset_us = INT64_C(1) << 50;     /* of another master's clock */
    leave(&busy, "worker.1.bin");
    holds_up("worker.1", "only long before", 2);
}

static void test_a_server_that_has_left_nothing(void **state)
{
    (void)state;
    written second = waiting_worker(1);
    leave_waiting(NULL);
    leave(&second, "worker.1.bin");
    holds_up("ps.0", "has written nothing", 2);
}

static void test_a_server_that_died(void **state)
{
    (void)state;
    written server = waiting_server(), second = waiting_worker(1);
    server.head.reason = RECORDING_DEATH;
    server.head.signal = SIGSEGV;
    leave_waiting(&server);
    leave(&second, "worker.1.bin");
    holds_up("ps.0", "died of signal 11 (Segmentation fault)", 2);
}

static void test_one_who_died_while_nobody_waited(void **state)
{
    (void)state;
    written server = by(ROLE_PS, 1, RECORDING_DEATH);
    server.head.signal = SIGABRT;
    leave(&server, "ps.1.bin");
    holds_up("ps.1", "died of signal 6", 0);
}

static void test_one_who_waits_for_examples(void **state)
{
    (void)state;
    written server = waiting_server(), busy = busy_worker();
    is_in(&busy, EVENT_LOAD, 0, 41, 0, 11);
    leave_waiting(&server);
    leave(&busy, "worker.1.bin");
    holds_up("worker.1", "waits for the examples of batch 7, for slot 1 of step 41", 2);
}

static void test_what_is_on_its_way(void **state)
{
    (void)state;
    written server = waiting_server(), second = waiting_worker(1);
    leave_waiting(&server);
    leave(&second, "worker.1.bin");
    holds_up("worker.1", "has sent slot 1 of step 41, which has not arrived", 2);
    server = waiting_server();
    add(&server, (recorder_event){.kind = EVENT_UPDATE, .lane = -1, .a = 4, .step = 42, .at_us = 7 * SECOND});
    says(&server, EVENT_SENT, WIRE_PART, WORKER_0, 4, 42, 7);
    leave(&server, "ps.0.bin");
    holds_up("ps.0", "has sent part 4 of version 42, which has not arrived", 2);
}

static void test_a_server_that_updates(void **state)
{
    (void)state;
    written server = waiting_server(), second = waiting_worker(1);
    pushes(&server, EVENT_RECEIVED, WORKER_1, 4, 41, 1);
    is_in(&server, EVENT_UPDATE, -1, 42, 4, 6);
    leave_waiting(&server);
    leave(&second, "worker.1.bin");
    holds_up("ps.0", "updates part 4 to version 42", 2);
}

/* ps.0 has made version 42, and may not answer it before ps.1 has it too, which is stopped. */
static void test_a_standby(void **state)
{
    (void)state;
    written server = waiting_server();
    add(&server, (recorder_event){.kind = EVENT_UPDATE, .lane = -1, .a = 4, .step = 42, .at_us = 7 * SECOND});
    says(&server, EVENT_SENT, WIRE_PUSH, PS_1, 4, 41, 7);
    leave_waiting(&server);
    holds_up("ps.1", "has written nothing", 2);
    text_says("  ps.0         waits for its standby to have version 42 of part 4, of ps.1, since 7.0 s\n");
    says(&server, EVENT_RECEIVED, WIRE_PUSHED, PS_1, 4, 41, 6);
    leave(&server, "ps.0.bin");
    holds_up("ps.0", "has part 4 at version 42, and has not sent it", 1);
}

/* ps.0 has all gradients of part 4, and has sent its norm. */
static written server_before_verdict(void)
{
    written server = waiting_server();
    pushes(&server, EVENT_RECEIVED, WORKER_1, 4, 41, 1);
    says(&server, EVENT_SENT, WIRE_NORM, MASTER, 4, 41, 7);
    return server;
}

static void test_a_verdict(void **state)
{
    (void)state;
    written server = server_before_verdict(), second = waiting_worker(1), master = by(ROLE_MASTER, 0, RECORDING_WAIT);
    slots = json_pack("[{s:s, s:i}, {s:s, s:i}]", "task", "worker.0", "lane", 0, "task", "worker.1", "lane", 0);
    leave(&server, "ps.0.bin");
    leave(&second, "worker.1.bin");
    holds_up("master.0", "has written nothing", 3);
    text_says("  ps.0         waits for the verdict on step 41, for part 4, of master.0, since 8.0 s\n");
    says(&master, EVENT_RECEIVED, WIRE_NORM, PS_0, 4, 41, 6);
    leave(&master, "master.0.bin");
    holds_up("master.0", "has not said the verdict on step 41", 3);
    text_says("  master.0 has not said the verdict on step 41; 3 tasks wait for it\n");
    says(&master, EVENT_SENT, WIRE_VERDICT, PS_0, -1, 41, 6);
    leave(&master, "master.0.bin");
    holds_up("master.0", "has said the verdict on step 41, which has not arrived", 3);
    master.head.reason = RECORDING_DEATH;
    master.head.signal = SIGKILL;
    leave(&master, "master.0.bin");
    holds_up("master.0", "died of signal 9", 3);
    json_decref(slots);
    slots = NULL;
}

/* ps.1 had sent the norm of its part of step 40, and waits for the gradient of worker.1. */
static void test_a_verdict_that_lacks_a_norm(void **state)
{
    (void)state;
    written first = server_before_verdict(), second = by(ROLE_PS, 1, RECORDING_ASKED), busy = busy_worker();
    written master = by(ROLE_MASTER, 0, RECORDING_WAIT), waiting = waiting_worker(0);
    for (int32_t i = 0; i < 2; i++)
        add(&master, (recorder_event){.kind = EVENT_OWNER, .lane = -1, .a = i, .b = i, .step = -1});
    says(&master, EVENT_RECEIVED, WIRE_NORM, PS_0, 4, 40, 12);
    says(&master, EVENT_RECEIVED, WIRE_NORM, PS_1, 9, 40, 12);
    says(&master, EVENT_RECEIVED, WIRE_NORM, PS_0, 4, 41, 6);
    pushes(&second, EVENT_RECEIVED, WORKER_0, 9, 41, 0);
    leave(&master, "master.0.bin");
    leave(&waiting, "worker.0.bin");
    leave(&first, "ps.0.bin");
    holds_up("ps.1", "has written nothing", 3);
    leave(&second, "ps.1.bin");
    leave(&busy, "worker.1.bin");
    holds_up("worker.1", "computes slot 1 of step 41", 4);
    text_says("  master.0     waits for the norm of step 41, of part 9, of ps.1, since 8.0 s\n");
    text_says_not("has not said the verdict");
    pushes(&second, EVENT_RECEIVED, WORKER_1, 9, 41, 1);
    says(&second, EVENT_SENT, WIRE_NORM, MASTER, 9, 41, 5);
    leave(&second, "ps.1.bin");
    holds_up("ps.1", "has sent the norm of part 9 of step 41, which has not arrived", 3);
}

/* worker.1 waits for part 9 of ps.0, which waits for worker.0, which waits for part 4, which waits for worker.1. */
static void test_a_cycle(void **state)
{
    (void)state;
    written server = waiting_server(), second = by(ROLE_WORKER, 1, RECORDING_ASKED);
    add(&server, (recorder_event){.kind = EVENT_UPDATE, .lane = -1, .a = 9, .step = 40, .at_us = 12 * SECOND});
    pushes(&server, EVENT_RECEIVED, WORKER_1, 9, 40, 1);
    is_in(&second, EVENT_SLOT, 0, 41, 1, 12);
    is_in(&second, EVENT_WAIT_PART, 0, 41, 9, 11);
    says(&second, EVENT_SENT, WIRE_PULL, PS_0, 9, 41, 11);
    leave_waiting(&server);
    leave(&second, "worker.1.bin");
    text_says("  it is not known who: tasks wait for each other in a cycle, or for one that is not known\n");
    text_says_not("nobody holds up");
}

/* worker.1 cannot compute step 41, as it waits for part 9 of ps.1, which has died. */
static void test_a_chain(void **state)
{
    (void)state;
    written server = waiting_server(), busy = busy_worker(), dead = by(ROLE_PS, 1, RECORDING_DEATH);
    dead.head.signal = SIGBUS;
    is_in(&busy, EVENT_WAIT_PART, 0, 41, 9, 11);
    says(&busy, EVENT_SENT, WIRE_PULL, PS_1, 9, 41, 11);
    leave_waiting(&server);
    leave(&busy, "worker.1.bin");
    leave(&dead, "ps.1.bin");
    holds_up("ps.1", "died of signal 7", 3);
}

static void test_leave_to_go_on(void **state)
{
    (void)state;
    written first = by(ROLE_WORKER, 0, RECORDING_ASKED), master = by(ROLE_MASTER, 0, RECORDING_WAIT);
    written server = by(ROLE_PS, 1, RECORDING_ASKED);
    says(&first, EVENT_RECEIVED, WIRE_ALIVE, MASTER, 0, 50, 3);
    add(&first, (recorder_event){.kind = EVENT_HELD, .lane = -1, .step = 50, .at_us = 5 * SECOND});
    is_in(&first, EVENT_IDLE, 0, -1, 0, 5);
    says(&master, EVENT_SENT, WIRE_CUT, PS_0, 0, 50, 9);
    says(&master, EVENT_SENT, WIRE_CUT, PS_1, 0, 50, 9);
    says(&master, EVENT_RECEIVED, WIRE_CUT_DONE, PS_0, 0, 50, 6);
    add(&master, (recorder_event){.kind = EVENT_OWNER, .lane = -1, .b = 0, .step = -1});
    add(&master, (recorder_event){.kind = EVENT_STEP_DONE, .lane = -1, .step = 50, .at_us = 5 * SECOND});
    is_in(&server, EVENT_WRITE_SHARD, -1, 50, 1, 8);
    leave(&first, "worker.0.bin");
    leave(&master, "master.0.bin");
    leave(&server, "ps.1.bin");
    holds_up("ps.1", "writes its shard of the checkpoint of step 50", 2);
    text_says("  worker.0     waits for leave to go on behind version 50, of master.0, since 5.0 s\n");
    text_says_not("has not begun");
    master.head.n_events = 0;
    snprintf(master.head.text, sizeof master.head.text, "for=evaluation of the epoch before step=50");
    leave(&master, "master.0.bin");
    written evaluator = by(ROLE_EVALUATOR, 0, RECORDING_SIGNAL);
    is_in(&evaluator, EVENT_EVALUATE, -1, 50, 0, 4);
    leave(&evaluator, "evaluator.0.bin");
    holds_up("evaluator.0", "evaluates step 50", 2);
}

/* The only worker is stopped before it has asked for anything. */
static void test_reports_that_the_master_lacks(void **state)
{
    (void)state;
    written master = by(ROLE_MASTER, 0, RECORDING_WAIT);
    add(&master, (recorder_event){.kind = EVENT_OWNER, .lane = -1, .b = 0, .step = -1, .at_us = 9 * SECOND});
    add(&master, (recorder_event){.kind = EVENT_STEP_DONE, .lane = -1, .step = 41, .at_us = 4 * SECOND});
    leave(&master, "master.0.bin");
    holds_up("worker.0", "has written nothing", 1);
    text_says("  master.0     waits for what was measured of slot 0 of step 41, of worker.0, since 4.0 s\n");
}

static void test_short_waits_hold_up_nobody(void **state)
{
    (void)state;
    written w = by(ROLE_WORKER, 0, RECORDING_SIGNAL);
    says(&w, EVENT_SENT, WIRE_PULL, PS_0, 4, 42, 0.01);
    is_in(&w, EVENT_SLOT, 0, 42, 0, 0.02);
    is_in(&w, EVENT_WAIT_PART, 0, 42, 4, 0.01);
    leave(&w, "worker.0.bin");
    text_says("nobody holds up the others");
}

static void test_damaged_files_are_refused_by_name(void **state)
{
    (void)state;
    written server = waiting_server(), busy = busy_worker();
    char *path = folder_file("log/events/worker.1.1.bin");
    leave_waiting(&server);
    leave(&busy, "worker.1.bin");
    assert_int_equal(fs_write_atomic(path, "nothing", 7, NULL), OK);
    text_says("refused: '");
    text_says("log/events/worker.1.1.bin': it has 7 bytes, fewer than its head\n");
    holds_up("worker.1", "computes slot 1 of step 41", 2);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_was_written, set_up),
        cmocka_unit_test_setup(test_one_who_computes, set_up),
        cmocka_unit_test_setup(test_one_who_has_left_nothing, set_up),
        cmocka_unit_test_setup(test_the_moment_at_which_most_have_written, set_up),
        cmocka_unit_test_setup(test_hosts_whose_clocks_differ, set_up),
        cmocka_unit_test_setup(test_a_server_that_has_left_nothing, set_up),
        cmocka_unit_test_setup(test_a_server_that_died, set_up),
        cmocka_unit_test_setup(test_one_who_died_while_nobody_waited, set_up),
        cmocka_unit_test_setup(test_one_who_waits_for_examples, set_up),
        cmocka_unit_test_setup(test_what_is_on_its_way, set_up),
        cmocka_unit_test_setup(test_a_server_that_updates, set_up),
        cmocka_unit_test_setup(test_a_standby, set_up),
        cmocka_unit_test_setup(test_a_verdict, set_up),
        cmocka_unit_test_setup(test_a_verdict_that_lacks_a_norm, set_up),
        cmocka_unit_test_setup(test_a_cycle, set_up),
        cmocka_unit_test_setup(test_a_chain, set_up),
        cmocka_unit_test_setup(test_leave_to_go_on, set_up),
        cmocka_unit_test_setup(test_reports_that_the_master_lacks, set_up),
        cmocka_unit_test_setup(test_short_waits_hold_up_nobody, set_up),
        cmocka_unit_test_setup(test_damaged_files_are_refused_by_name, set_up),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
