/* What tasks say of themselves is kept as said last; counters go on over a task's lives; lies are dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/wire/status.h"
#include "master/statuses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const task worker_3 = {ROLE_WORKER, 3};

/* As it comes from the wire. */
static Wire__Status *unpacked(const Wire__Status *m)
{
    buf packed = BUF_INIT;
    ProtobufCMessage *ret = NULL;
    error err = ERROR_INIT;
    wire_pack(&m->base, &packed);
    assert_int_equal(wire_unpack(WIRE_STATUS, packed.data, packed.size, &ret, &err), OK);
    buf_fini(&packed);
    return (Wire__Status *)ret;
}

static void take(statuses *s, task of, uint64_t life, const Wire__Status *m, status wanted)
{
    Wire__Status *said = unpacked(m);
    error err = ERROR_INIT;
    assert_int_equal(statuses_take(s, of, life, 1000, &said, &err), wanted);
    assert_true((said == NULL) == (wanted == OK));
    if (said)
        wire_free(&said->base);
}

static void say_figures(statuses *s, uint64_t life, int64_t computing, int64_t version)
{
    Wire__Status__Figure a = WIRE__STATUS__FIGURE__INIT, b = a, unknown = a;
    Wire__Status__Figure *all[] = {&a, &unknown, &b};
    Wire__Status m = WIRE__STATUS__INIT;
    a.name = (char *)(uintptr_t)"tequio_worker_computing_seconds_total";
    a.value = computing;
    unknown.name = (char *)(uintptr_t)"tequio_of_another_version_total";
    unknown.value = 7;
    b.name = (char *)(uintptr_t)"tequio_worker_version";
    b.value = version;
    m.n_figures = COUNT_OF(all);
    m.figures = all;
    take(s, worker_3, life, &m, OK);
}

static void counters_go_on_over_lives(void **state)
{
    (void)state;
    statuses s = {0};
    assert_null(statuses_of(&s, worker_3));
    say_figures(&s, 5, 4000000, 10);
    say_figures(&s, 5, 6000000, 12);
    const task_status *t = statuses_of(&s, worker_3);
    assert_true(task_status_figure(t, COUNTER_WORKER_COMPUTING) == 6.0);
    say_figures(&s, 9, 500000, -1);
    say_figures(&s, 9, 1500000, 3);
    t = statuses_of(&s, worker_3);
    assert_true(task_status_figure(t, COUNTER_WORKER_COMPUTING) == 7.5);
    assert_true(task_status_figure(t, COUNTER_WORKER_VERSION) == 3); /* a gauge is as it is */
    assert_true(t->has[COUNTER_WORKER_COMPUTING] && !t->has[COUNTER_WORKER_SLOTS]);
    say_figures(&s, 9, -4, 3);                                       /* none of ours says so */
    assert_true(task_status_figure(statuses_of(&s, worker_3), COUNTER_WORKER_COMPUTING) == 7.5);
    say_figures(&s, 10, INT64_MAX, 3);
    say_figures(&s, 11, INT64_MAX, 3);
    assert_true(task_status_figure(statuses_of(&s, worker_3), COUNTER_WORKER_COMPUTING) > 0);
    assert_int_equal(s.n, 1);
    statuses_fini(&s);
}

static void what_a_task_fills_in_arrives(void **state)
{
    (void)state;
    statuses s = {0};
    wait_list waits = WAIT_LIST_INIT;
    Wire__Status m;
    wait_list_add(&waits, LOG_WARN, "for=ps.1 since=%.1fs", 7.2);
    wait_list_words(&waits, 7.2, "ps.1", "part %d of ps.1", 17);
    wait_list_add(&waits, LOG_INFO, "for=pushes");
    wait_list_words(&waits, 2, NULL, "gradients");
    counter_set(COUNTER_WORKER_SLOTS, 12);
    wire_status_fill(ROLE_WORKER, &waits, &m);
    take(&s, worker_3, 1, &m, OK);
    wire_status_clear(&m);
    const task_status *t = statuses_of(&s, worker_3);
    assert_true(task_status_figure(t, COUNTER_WORKER_SLOTS) == 12);
    assert_true(t->has[COUNTER_SENT_BYTES] && !t->has[COUNTER_PS_PUSHES]);
    assert_int_equal(t->said->n_waits, 2);
    assert_string_equal(t->said->waits[0]->words, "part 17 of ps.1");
    assert_string_equal(t->said->waits[0]->whom, "ps.1");
    assert_true(t->said->waits[0]->seconds == 7.2 && !t->said->waits[0]->usual && t->said->waits[1]->usual);
    statuses_fini(&s);
}

static void lies_are_dropped(void **state)
{
    (void)state;
    statuses s = {0};
    uint32_t parts[2] = {0, 1};
    int64_t versions[1] = {4};
    Wire__Status m = WIRE__STATUS__INIT;
    m.n_parts = 2;
    m.parts = parts;
    m.n_versions = 1;
    m.versions = versions;
    take(&s, worker_3, 1, &m, E_PROTOCOL);

    Wire__Status__Wait wait = WIRE__STATUS__WAIT__INIT;
    Wire__Status__Wait *all[STATUS_WAITS_MOST + 1];
    for (size_t i = 0; i < COUNT_OF(all); i++)
        all[i] = &wait;
    m = (Wire__Status)WIRE__STATUS__INIT;
    m.waits = all;
    m.n_waits = COUNT_OF(all);
    take(&s, worker_3, 1, &m, E_PROTOCOL);
    m.n_waits = 1;
    wait.seconds = NAN;
    take(&s, worker_3, 1, &m, E_PROTOCOL);
    wait.seconds = -1;
    take(&s, worker_3, 1, &m, E_PROTOCOL);

    Wire__Status__Link link = WIRE__STATUS__LINK__INIT, *links[] = {&link};
    link.credit = UINT64_MAX;
    m = (Wire__Status)WIRE__STATUS__INIT;
    m.links = links;
    m.n_links = 1;
    take(&s, worker_3, 1, &m, E_PROTOCOL);
    assert_null(statuses_of(&s, worker_3));
    statuses_fini(&s);
}

/* --- what it costs: docs/BENCHMARKS.md has what this prints --- */

enum { LINKS = 8, PARTS = 1000, RUNS = 200 };

static int by_time(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

static double median_us(int64_t *times)
{
    qsort(times, RUNS, sizeof *times, by_time);
    return (double)times[RUNS / 2];
}

/* A worker that is connected to some servers and waits, or a server of many parts. */
static void fill(role of, Wire__Status *m, const wait_list *waits, Wire__Status__Link *links, uint32_t *parts,
                 int64_t *versions, uint32_t *pulls)
{
    static Wire__Status__Link *of_links[LINKS];
    wire_status_fill(of, waits, m);
    for (size_t i = 0; of == ROLE_WORKER && i < LINKS; i++) {
        wire__status__link__init(&links[i]);
        links[i].server = (uint32_t)i;
        links[i].up = true;
        links[i].in_flight = links[i].credit = 8 << 20;
        links[i].pulls = 4;
        of_links[i] = &links[i];
    }
    for (size_t i = 0; of == ROLE_PS && i < PARTS; i++) {
        parts[i] = (uint32_t)i;
        versions[i] = 100000 + (int64_t)(i % 2);
        pulls[i] = (uint32_t)(i % 2);
    }
    m->links = of_links;
    m->n_links = of == ROLE_WORKER ? LINKS : 0;
    m->parts = parts;
    m->versions = versions;
    m->pulls = pulls;
    m->n_parts = m->n_versions = m->n_pulls = of == ROLE_PS ? PARTS : 0;
}

static void measure(role of, const char *what)
{
    statuses s = {0};
    wait_list waits = WAIT_LIST_INIT;
    Wire__Status__Link links[LINKS];
    static uint32_t parts[PARTS], pulls[PARTS];
    static int64_t versions[PARTS], said[RUNS], taken[RUNS];
    buf packed = BUF_INIT;
    wait_list_add(&waits, LOG_WARN, "for=ps.1");
    wait_list_words(&waits, 7.2, "ps.1", "part 17 of ps.1 at version 100001, and for 12 parts more");
    for (int i = 0; i < RUNS; i++) {
        Wire__Status m;
        ProtobufCMessage *p = NULL;
        int64_t began = clock_us();
        fill(of, &m, &waits, links, parts, versions, pulls);
        wire_pack(&m.base, &packed);
        said[i] = clock_us() - began;
        wire_status_clear(&m);
        began = clock_us();
        assert_int_equal(wire_unpack(WIRE_STATUS, packed.data, packed.size, &p, NULL), OK);
        Wire__Status *told = (Wire__Status *)p;
        assert_int_equal(statuses_take(&s, (task){of, 0}, 1, began, &told, NULL), OK);
        taken[i] = clock_us() - began;
    }
    print_message("STATUS of %s: %zu bytes, said in %.0f us, taken in %.0f us\n", what, packed.size, median_us(said),
                  median_us(taken));
    assert_true(packed.size < STATUS_BYTES_MOST);
    buf_fini(&packed);
    statuses_fini(&s);
}

static void it_costs_little(void **state)
{
    (void)state;
    measure(ROLE_WORKER, "a worker of 8 servers");
    measure(ROLE_PS, "a server of 1000 parts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_go_on_over_lives),
        cmocka_unit_test(what_a_task_fills_in_arrives),
        cmocka_unit_test(lies_are_dropped),
        cmocka_unit_test(it_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
