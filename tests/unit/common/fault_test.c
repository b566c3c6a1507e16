/*
 * Faults at work over the real transport: what is lost, what comes late, who dies and who stops at
 * which message. Deaths and stops happen to a child of the test.
 */
#include "common/fault/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/fault/plan.h"
#include "unit/common/support_net.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const task worker = {ROLE_WORKER, 0}, server = {ROLE_PS, 0};

/* A server, and a worker whose dial it is that goes wrong. */
typedef struct scene {
    fault_plan *plan;
    fault *fault;
    pair pair;
} scene;

static scene scene_make(const char *text, int life)
{
    scene s = {.plan = NULL};
    assert_int_equal(fault_plan_parse(text, &s.plan, NULL), OK);
    assert_int_equal(fault_begin(s.plan, worker, life, &s.fault, NULL), OK);
    assert_int_equal(net_create(&s.pair.net, NULL), OK);
    s.pair.listener = listen_on(s.pair.net, "tcp://127.0.0.1:0");
    fault_enter(s.fault);
    s.pair.dial = dial_to(s.pair.net, net_endpoint(s.pair.listener));
    fault_enter(NULL);
    wait_event(s.pair.dial, NET_UP);
    return s;
}

static void scene_fini(scene *s)
{
    pair_fini(&s->pair);
    fault_end(&s->fault);
    fault_plan_destroy(&s->plan);
}

static void say(net_socket *s, wire_type type, int64_t step)
{
    unsigned char head[NET_HEAD];
    wire_head h = {.type = type, .step = step};
    wire_head_encode(&h, head);
    assert_int_equal(net_send(s, NULL, head, NULL, NULL), OK);
}

static int64_t step_of(const net_message *m)
{
    wire_head h;
    assert_int_equal(wire_head_decode(m->head, 0, &h, NULL), OK);
    return h.step;
}

/* Which of n pulls arrive, as bits; the last message is a heartbeat said by nobody who loses any.
 */
static uint64_t arrivals(const char *text, int n)
{
    scene s = scene_make(text, 1);
    for (int i = 0; i < n; i++)
        say(s.pair.dial, WIRE_PULL, i);
    net_socket *honest = dial_to(s.pair.net, net_endpoint(s.pair.listener));
    uint64_t came = 0;
    int n_came = 0;
    net_message m;
    /* the sound connection's message may overtake: it is said until the others stopped coming */
    for (int quiet = 0; quiet < 20;) {
        say(honest, WIRE_HEARTBEAT, n);
        wait_message(s.pair.listener, &m);
        int64_t step = step_of(&m);
        span_drop(m.payload);
        quiet = step == n ? quiet + 1 : 0;
        if (step < n) {
            came |= UINT64_C(1) << step;
            n_came++;
        }
    }
    assert_true(n_came <= n);
    net_close(&honest, 0);
    scene_fini(&s);
    return came;
}

static void test_a_share_is_lost(void **state)
{
    (void)state;
    uint64_t all = (UINT64_C(1) << 60) - 1;
    uint64_t some = arrivals("seed=7,drop=worker.0:50%", 60);
    assert_true(some != 0 && some != all);
    assert_true(some == arrivals("seed=7,drop=worker.0:50%", 60));
    assert_true(some != arrivals("seed=8,drop=worker.0:50%", 60));
    assert_true(arrivals("drop=worker.0:100%", 60) == 0);
    assert_true(arrivals("drop=worker.0:0%", 60) == all);
}

static void count_back(span *s)
{
    ++*(int *)s->owner;
}

/* What is lost, held back or never sent gives its memory back, once. */
static void test_memory_comes_back(void **state)
{
    (void)state;
    static float data[4];
    static const char *const plans[] = {"drop=worker.0:100%", "delay=worker.0:100s"};
    for (size_t i = 0; i < 2; i++) {
        scene s = scene_make(plans[i], 1);
        int n_back = 0;
        unsigned char head[NET_HEAD];
        wire_head_encode(&(wire_head){.type = WIRE_PUSH, .bytes = sizeof data}, head);
        span lent = {
            .data = data, .bytes = sizeof data, .refs = 1, .release = count_back, .owner = &n_back};
        span copied = span_for_call(data, sizeof data);
        assert_int_equal(net_send(s.pair.dial, NULL, head, &lent, NULL), OK);
        assert_int_equal(net_send(s.pair.dial, NULL, head, &copied, NULL), OK);
        assert_int_equal(n_back, i == 0);
        scene_fini(&s);
        assert_int_equal(n_back, 1);
    }
}

/* In order, not before their time, and the sender's own poll sends them. */
static void test_messages_come_late(void **state)
{
    (void)state;
    scene s = scene_make("delay=worker.0:100ms,delay=worker.0:50ms", 2);
    int64_t begin = clock_us();
    for (int i = 0; i < 40; i++)
        say(s.pair.dial, WIRE_PULL, i);
    int n = 0;
    net_socket *both[] = {s.pair.dial, s.pair.listener};
    while (n < 40) {
        assert_int_equal(net_poll(both, 2, NULL, LIMIT_MS, NULL), OK);
        net_message m;
        net_event event;
        while (net_next_event(s.pair.dial, &event) || net_next_event(s.pair.listener, &event))
            ;
        while (net_receive(s.pair.listener, &m)) {
            assert_int_equal(step_of(&m), n++);
            span_drop(m.payload);
            assert_true(clock_us() - begin >= 150000);
        }
    }
    scene_fini(&s);
}

/* A farewell is not lost: closing sends what is held. */
static void test_closing_sends_what_is_held(void **state)
{
    (void)state;
    scene s = scene_make("delay=worker.0:100s", 1);
    say(s.pair.dial, WIRE_HEARTBEAT, 5);
    net_close(&s.pair.dial, 5000);
    net_message m;
    wait_message(s.pair.listener, &m);
    assert_int_equal(step_of(&m), 5);
    span_drop(m.payload);
    scene_fini(&s);
}

/* --- deaths and stops --- */

/* Sends pulls and receives their answers until `n` went there and back. */
static void converse(scene *s, int n)
{
    unsigned char head[NET_HEAD];
    net_message m;
    for (int i = 0; i < n; i++) {
        say(s->pair.dial, WIRE_PULL, i);
        wait_message(s->pair.listener, &m);
        span_drop(m.payload);
        wire_head_encode(&(wire_head){.type = WIRE_GONE, .step = i}, head);
        assert_int_equal(net_send(s->pair.listener, &m.from, head, NULL, NULL), OK);
        wait_message(s->pair.dial, &m);
        span_drop(m.payload);
        (void)!write(STDOUT_FILENO, ".", 1);
    }
}

/* The child's end, and how many rounds it came through, after ten were asked for. */
static int fate_of(const char *text, int life, int *ret_rounds)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        scene s = scene_make(text, life);
        converse(&s, 10);
        scene_fini(&s);
        _exit(0);
    }
    close(ends[1]);
    *ret_rounds = 0;
    char dot;
    while (read(ends[0], &dot, 1) == 1)
        ++*ret_rounds;
    close(ends[0]);
    int end;
    assert_int_equal(waitpid(pid, &end, 0), pid);
    return WIFSIGNALED(end) ? WTERMSIG(end) : 0;
}

static void test_deaths(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int life, signal, rounds;
    } cases[] = {
        {"kill=worker.0@pull:3", 1, SIGKILL, 2},
        {"kill=worker.0@pull>:3", 1, SIGKILL, 2},
        {"kill=worker.0@gone:10", 1, SIGKILL, 9},
        {"kill=worker.0@gone<:1", 1, SIGKILL, 0},
        {"kill=worker.0@pull:11", 1, 0, 10},
        {"kill=worker.0@pull:3", 2, 0, 10},
        {"kill=worker.0#2@pull:3", 2, SIGKILL, 2},
        {"kill=worker.0@push:1,kill=worker.1@pull:1,kill=ps.0@pull:1", 1, 0, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rounds;
        assert_int_equal(fate_of(cases[i].text, cases[i].life, &rounds), cases[i].signal);
        assert_int_equal(rounds, cases[i].rounds);
    }
}

static void test_death_at_a_time(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        fault_plan *p;
        fault *f;
        assert_int_equal(fault_plan_parse("kill=ps.0@20ms", &p, NULL), OK);
        assert_int_equal(fault_begin(p, server, 1, &f, NULL), OK);
        for (;;)
            pause();
    }
    int end;
    assert_int_equal(waitpid(pid, &end, 0), pid);
    assert_true(WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL);
}

/* Stopped where its clause says, for as long as it says, and then all goes on. */
static void test_stops(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        scene s = scene_make("freeze=worker.0@pull:2:300ms", 1);
        converse(&s, 3);
        scene_fini(&s);
        _exit(7);
    }
    int end;
    assert_int_equal(waitpid(pid, &end, WUNTRACED), pid);
    int64_t begin = clock_us();
    assert_true(WIFSTOPPED(end) && WSTOPSIG(end) == SIGSTOP);
    assert_int_equal(waitpid(pid, &end, WCONTINUED), pid);
    assert_true(clock_us() - begin > 200000);
    if (WIFCONTINUED(end)) /* it may have ended before we looked */
        assert_int_equal(waitpid(pid, &end, 0), pid);
    assert_true(WIFEXITED(end) && WEXITSTATUS(end) == 7);
}

static void test_nothing_planned_costs_nothing(void **state)
{
    (void)state;
    fault_plan *p = NULL;
    fault *f = NULL;
    assert_int_equal(fault_begin(NULL, worker, 1, &f, NULL), OK);
    assert_null(f);
    assert_int_equal(fault_plan_parse("kill=worker.1@push:1", &p, NULL), OK);
    assert_int_equal(fault_begin(p, worker, 1, &f, NULL), OK);
    assert_null(f);
    fault_plan_destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_share_is_lost),
        cmocka_unit_test(test_memory_comes_back),
        cmocka_unit_test(test_messages_come_late),
        cmocka_unit_test(test_closing_sends_what_is_held),
        cmocka_unit_test(test_deaths),
        cmocka_unit_test(test_death_at_a_time),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_nothing_planned_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
