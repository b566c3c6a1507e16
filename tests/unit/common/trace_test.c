/* Traces of a window of steps: which events they keep, how many, and what of a told one is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/live/trace.h"
#include "common/wire/trace_wire.h"

#include <stdlib.h>
#include <string.h>

static void windows_are_read(void **state)
{
    (void)state;
    static const char *const refused[] = {"", "10", "10:", ":20", "20:10", "10:10", "-1:5", "1:5 ", " 1:5", "1:5:9",
                                          "1-5",  "0x1:5", "1:99999999999999999999"};
    trace_window w;
    error err = ERROR_INIT;
    assert_int_equal(trace_window_read("10:20", &w, NULL), OK);
    assert_true(w.begin == 10 && w.end == 20);
    assert_int_equal(trace_window_read("0:1", &w, NULL), OK);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(trace_window_read(refused[i], &w, NULL), E_CONFIG);
    assert_int_equal(trace_window_read("a:b", &w, &err), E_CONFIG);
    assert_string_equal(err.text, "'a:b' is no window of steps: give the first, and the one after the last, as 10:20");
    assert_true(w.begin == 0 && w.end == 1);
}

static void offer(recorder_kind kind, int64_t step, int32_t a)
{
    RECORDER_NOTE(.kind = kind, .step = step, .a = a, .lane = -1, .at_us = 100 + step);
}

/* The steps of the window, updates by the version before; of messages those that name a step; what has no step while
 * the window lasts. */
static void what_is_of_the_window_is_kept(void **state)
{
    (void)state;
    recorder_event e[16];
    offer(EVENT_SLOT, 3, 0); /* nothing is traced */
    trace_open((trace_window){3, 5});
    offer(EVENT_IDLE, -1, 0);
    offer(EVENT_SLOT, 2, 0);
    offer(EVENT_SLOT, 3, 1);
    offer(EVENT_IDLE, -1, 0);
    offer(EVENT_UPDATE, 3, 7);
    offer(EVENT_UPDATE, 5, 7);
    offer(EVENT_SENT, 4, WIRE_PUSH);
    offer(EVENT_SENT, 4, WIRE_HEARTBEAT);
    offer(EVENT_SLOT, 5, 0);
    offer(EVENT_IDLE, -1, 0);
    assert_int_equal(trace_count(), 4);
    assert_int_equal(trace_read(0, 16, e), 4);
    assert_true(e[0].kind == EVENT_SLOT && e[0].step == 3 && e[0].a == 1);
    assert_true(e[1].kind == EVENT_IDLE);
    assert_true(e[2].kind == EVENT_UPDATE && e[2].step == 4);
    assert_true(e[3].kind == EVENT_SENT && e[3].a == WIRE_PUSH);
    assert_int_equal(trace_read(3, 16, e), 1);
    trace_close();
    offer(EVENT_SLOT, 3, 0);
    assert_int_equal(trace_count(), 0);
}

static void it_is_bounded(void **state)
{
    (void)state;
    recorder_event e = {.kind = EVENT_SLOT, .step = 0, .lane = 0};
    size_t most = TRACE_BYTES / sizeof e, room = most - most % TRACE_PIECE;
    trace_open((trace_window){0, 1});
    for (size_t i = 0; i < room + 5; i++)
        trace_note(&e);
    assert_int_equal(trace_count(), room);
    assert_int_equal(trace_left_out(), 5);
    trace_close();
    assert_int_equal(trace_left_out(), 0);
}

static const char *name_of(const void *of, int32_t node)
{
    return ((const char *const *)of)[node];
}

static void the_first_role_tells_all(void **state)
{
    (void)state;
    static const char *const names[] = {"fc1", "fc1.relu"};
    Wire__Trace asked = WIRE__TRACE__INIT, told;
    trace_open((trace_window){0, 9});
    trace_task(ROLE_WORKER, "worker.4");
    trace_task(ROLE_PS, "ps.4");
    trace_task(ROLE_PS, "ps.4");
    trace_nodes(1, 2, name_of, names);
    trace_nodes(1, 2, name_of, names);
    for (int i = 0; i < TRACE_PIECE + 2; i++)
        offer(EVENT_SLOT, 8, i);
    asked.asked_us = 77;
    trace_wire_fill(&asked, ROLE_PS, &told);
    assert_int_equal(trace_wire_check(&told, NULL), OK);
    assert_true(told.pieces == 2 && told.n_tasks == 2 && told.n_variants == 1);
    assert_true(told.asked_us == 77 && !told.elsewhere);
    assert_string_equal(told.tasks[1]->name, "ps.4");
    assert_string_equal(told.variants[0]->nodes[1], "fc1.relu");
    assert_int_equal(told.events.len, TRACE_PIECE * sizeof(recorder_event));
    trace_wire_clear(&told);
    asked.piece = 1;
    trace_wire_fill(&asked, ROLE_PS, &told);
    assert_int_equal(told.events.len, 2 * sizeof(recorder_event));
    trace_wire_clear(&told);
    trace_wire_fill(&asked, ROLE_WORKER, &told);
    assert_true(told.elsewhere && told.events.len == 0);
    trace_wire_clear(&told);
    trace_close();
}

/* A told trace, spoiled: none of it is believed. */
static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const nodes[] = {"fc1", "fc2"};
    static char empty[] = "";
    char *long_name = xcalloc(1, TRACE_NAMES + 1);
    memset(long_name, 'n', TRACE_NAMES);
    Wire__Trace asked = WIRE__TRACE__INIT, told;
    trace_open((trace_window){0, 9});
    trace_task(ROLE_WORKER, "worker.0");
    trace_nodes(1, 2, name_of, nodes);
    offer(EVENT_SLOT, 8, 1);
    trace_wire_fill(&asked, ROLE_WORKER, &told);
    recorder_event *e = (recorder_event *)(void *)told.events.data, whole = *e;
    assert_int_equal(trace_wire_check(&told, NULL), OK);
#define SPOILED(place, value)                                                                      \
    do {                                                                                           \
        __typeof__(place) kept_ = (place);                                                         \
        (place) = (value);                                                                         \
        assert_int_equal(trace_wire_check(&told, NULL), E_PROTOCOL);                               \
        (place) = kept_;                                                                           \
    } while (0)
    SPOILED(e->kind, (recorder_kind)EVENT_COUNT);
    SPOILED(e->took_us, -1);
    SPOILED(e->took_us, whole.at_us + 1);
    SPOILED(e->at_us, INT64_MAX);
    SPOILED(e->at_us, -1);
    SPOILED(e->step, -2);
    SPOILED(e->lane, -2);
    SPOILED(told.events.len, told.events.len - 1);
    SPOILED(told.kinds, EVENT_COUNT + 1);
    SPOILED(told.pieces, 0);
    SPOILED(told.pieces, TRACE_PIECES + 2);
    SPOILED(told.offset_us, INT64_MIN);
    SPOILED(told.error_us, -2);
    SPOILED(told.tasks[0]->role, ROLE_COUNT);
    SPOILED(told.variants[0]->nodes[1], long_name);
    char **names = xcalloc(TRACE_NAMES, sizeof *names);
    for (size_t i = 0; i < TRACE_NAMES; i++)
        names[i] = empty;
    char **own = told.variants[0]->nodes;
    told.variants[0]->nodes = names;
    SPOILED(told.variants[0]->n_nodes, TRACE_NAMES / TRACE_NAME_MORE + 1);
    told.variants[0]->nodes = own;
    free(names);
    free(long_name);
    assert_int_equal(trace_wire_check(&told, NULL), OK);
    trace_wire_clear(&told);
    trace_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_read),
        cmocka_unit_test(what_is_of_the_window_is_kept),
        cmocka_unit_test(it_is_bounded),
        cmocka_unit_test(the_first_role_tells_all),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
