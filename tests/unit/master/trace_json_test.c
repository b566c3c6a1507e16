/* Traces as JSON: moments of the master's clock, what crosses in rows of its own, names as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "master/profile/trace_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* As it comes over the wire from a worker whose clock is 1000 us behind the master's. */
static Wire__Trace *told(const recorder_event *events, size_t n)
{
    Wire__Trace m = WIRE__TRACE__INIT;
    Wire__Trace__Task self = WIRE__TRACE__TASK__INIT, *tasks[] = {&self};
    Wire__Trace__Variant variant = WIRE__TRACE__VARIANT__INIT, *variants[] = {&variant};
    char *nodes[] = {(char *)(uintptr_t) "a \"node\"\\\n"};
    buf packed = BUF_INIT;
    ProtobufCMessage *ret = NULL;
    self.role = ROLE_WORKER;
    self.name = (char *)(uintptr_t) "worker.0";
    variant.n_nodes = 1;
    variant.nodes = nodes;
    m.tasks = tasks;
    m.n_tasks = m.n_variants = 1;
    m.variants = variants;
    m.pieces = 1;
    m.kinds = EVENT_COUNT;
    m.offset_us = 1000;
    m.error_us = 30;
    m.events = (ProtobufCBinaryData){.len = n * sizeof *events, .data = (uint8_t *)(uintptr_t)events};
    wire_pack(&m.base, &packed);
    assert_int_equal(wire_unpack(WIRE_TRACE, packed.data, packed.size, &ret, NULL), OK);
    buf_fini(&packed);
    assert_int_equal(trace_wire_check((Wire__Trace *)ret, NULL), OK);
    return (Wire__Trace *)ret;
}

static json_t *written(const recorder_event *events, size_t n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    trace_json *j = trace_json_begin(f, (trace_window){4, 6});
    trace_source s = {.about = NULL};
    trace_source_add(&s, told(events, n));
    assert_true(s.n == n && s.about->events.len == 0);
    trace_json_add(j, &s);
    trace_json_miss(j, "worker.1", "it is \"gone\"");
    trace_json_end(&j);
    fclose(f);
    trace_source_free(&s);
    json_error_t why;
    json_t *ret = json_loads(text, 0, &why);
    assert_non_null(ret);
    free(text);
    return ret;
}

/* The i-th event that took time. */
static const json_t *span_at(const json_t *whole, size_t i)
{
    const json_t *events = json_object_get(whole, "traceEvents");
    for (size_t k = 0; k < json_array_size(events); k++) {
        const json_t *e = json_array_get(events, k);
        if (strcmp(json_string_value(json_object_get(e, "ph")), "X") == 0 && !i--)
            return e;
    }
    fail_msg("there are too few");
    return NULL;
}

static void check_span(const json_t *whole, size_t i, const char *name, double begin_us, double took_us, json_int_t row)
{
    const json_t *e = span_at(whole, i);
    assert_string_equal(json_string_value(json_object_get(e, "name")), name);
    assert_true(json_number_value(json_object_get(e, "ts")) == begin_us);
    assert_true(json_number_value(json_object_get(e, "dur")) == took_us);
    assert_int_equal(json_integer_value(json_object_get(e, "tid")), row);
}

static void what_crosses_has_a_row_of_its_own(void **state)
{
    (void)state;
    recorder_event node = trace_node_event(EVENT_NODE, 110250, 120750);
    node.step = 4;
    const recorder_event events[] = {
        {.kind = EVENT_SLOT, .lane = 0, .step = 4, .a = 2, .at_us = 200, .took_us = 100},
        {.kind = EVENT_WAIT_PART, .lane = 0, .step = 4, .a = 5, .at_us = 201, .took_us = 50},   /* cut by rounding */
        {.kind = EVENT_SLOT, .lane = 0, .step = 5, .a = 3, .at_us = 280, .took_us = 120},       /* crosses */
        node,
    };
    json_t *whole = written(events, 4);
    check_span(whole, 0, "slot 2", 1100, 100, 1);
    check_span(whole, 1, "a \"node\"\\\n", 1110.25, 10.5, 1);
    check_span(whole, 2, "wait for part 5", 1151, 49, 1);
    check_span(whole, 3, "slot 3", 1160, 120, 2);
    const json_t *about = json_object_get(whole, "otherData");
    const json_t *self = json_array_get(json_object_get(about, "tasks"), 0);
    const json_t *missing = json_array_get(json_object_get(about, "missing"), 0);
    assert_int_equal(json_integer_value(json_object_get(self, "clock_error_us")), 30);
    assert_string_equal(json_string_value(json_object_get(missing, "why")), "it is \"gone\"");
    json_decref(whole);
}

static const char *thread_name(const json_t *whole, json_int_t tid)
{
    json_t *e;
    size_t i;
    json_array_foreach(json_object_get(whole, "traceEvents"), i, e)
        if (strcmp(json_string_value(json_object_get(e, "name")), "thread_name") == 0 &&
            json_integer_value(json_object_get(e, "tid")) == tid)
            return json_string_value(json_object_get(json_object_get(e, "args"), "name"));
    return "";
}

/* Behind its lane, in front of the next. */
static void a_device_has_a_row_of_its_own(void **state)
{
    (void)state;
    recorder_event node = trace_node_event(EVENT_DEVICE_NODE, 110250, 120750), *n = &node;
    n->step = 4;
    n->lane = 1;
    const recorder_event events[] = {
        {.kind = EVENT_SLOT, .lane = 2, .step = 4, .a = 3, .at_us = 200, .took_us = 100},
        node,
        {.kind = EVENT_DEVICE_SLOT, .lane = 1, .step = 4, .a = 2, .b = 1500, .c = 8, .at_us = 121, .took_us = 11},
        {.kind = EVENT_SLOT, .lane = 1, .step = 4, .a = 2, .at_us = 200, .took_us = 100},
    };
    enum { HOST = 2 * 64 + 1, DEVICE = 3 * 64 + 1, NEXT = 4 * 64 + 1 };
    json_t *whole = written(events, 4);
    check_span(whole, 0, "slot 2", 1100, 100, HOST);
    check_span(whole, 1, "slot 2", 1110, 11, DEVICE);
    check_span(whole, 2, "a \"node\"\\\n", 1110.25, 10.5, DEVICE);
    check_span(whole, 3, "slot 3", 1100, 100, NEXT);
    assert_string_equal(thread_name(whole, HOST), "lane 1");
    assert_string_equal(thread_name(whole, DEVICE), "lane 1 device");
    assert_string_equal(thread_name(whole, NEXT), "lane 2");
    const json_t *args = json_object_get(span_at(whole, 1), "args");
    assert_int_equal(json_integer_value(json_object_get(args, "error_ns")), 1500);
    assert_int_equal(json_integer_value(json_object_get(args, "batch")), 8);
    json_decref(whole);
}

/* As many at a time as there are rows, and more: the last one takes them. */
static void more_than_rows_are_written_all_the_same(void **state)
{
    (void)state;
    enum { N = 200 };
    recorder_event *events = xcalloc(N, sizeof *events);
    for (int i = 0; i < N; i++)
        events[i] = (recorder_event){.kind = EVENT_PULL_WAITED, .lane = -1, .step = 4, .at_us = 10000 + 10 * i,
                                     .took_us = 5000};
    json_t *whole = written(events, N);
    (void)span_at(whole, N - 1);
    json_decref(whole);
    free(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_crosses_has_a_row_of_its_own),
        cmocka_unit_test(a_device_has_a_row_of_its_own),
        cmocka_unit_test(more_than_rows_are_written_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
