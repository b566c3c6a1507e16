/*
 * Two real servers, each the other's standby: when the one who acts is gone the other one has every
 * version that was ever answered, bit for bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "unit/ps/support_standby.h"

#include <stdlib.h>
#include <string.h>

/* --- two real servers --- */

typedef struct server_set {
    server *servers[2];
    peer masters[2], workers[2];
    char endpoints[2][64]; /* where they listen, or did */
    int64_t answered;      /* the highest version of part 0 */
} server_set;

static void server_set_turn(server_set *v, assignment *a, uint32_t era)
{
    a->era = era_said = era;
    for (int i = 0; i < 2; i++) {
        if (!v->servers[i])
            continue;
        a->place = i;
        say_assignment(&v->masters[i], a);
        hear(&v->masters[i], WIRE_READY);
        assert_false(((Wire__Ready *)v->masters[i].message)->lost);
    }
}

static void server_set_start(server_set *v, int i)
{
    v->servers[i] = server_start(NULL);
    memcpy(v->endpoints[i], v->servers[i]->tcp, sizeof v->endpoints[i]);
}

static void server_set_make(server_set *v, assignment *a)
{
    memset(v, 0, sizeof *v);
    for (int i = 0; i < 2; i++)
        server_set_start(v, i);
    *a = dealt(v->endpoints[0], v->endpoints[1]);
    for (int i = 0; i < 2; i++) {
        a->place = i;
        meet(v->servers[i], a, &v->masters[i], &v->workers[i]);
    }
}

/* One step of part 0 on server `i`. The answer to the pull is awaited where `pulls`. */
static void server_set_step(server_set *v, int i, whole *w, bool pulls)
{
    peer *worker = &v->workers[i];
    if (pulls)
        say(worker, head_of(WIRE_PULL, 0, w->version + 1), NULL, 0);
    push(worker, w->version, standby_root);
    whole_step(w, 1);
    bool pushed = false, answered = !pulls;
    while (!pushed || !answered) {
        net_message m;
        if (!net_receive(worker->socket, &m)) {
            assert_int_equal(net_poll(&worker->socket, 1, NULL, 20, NULL), OK);
            continue;
        }
        wire_head h;
        assert_int_equal(wire_head_decode(m.head, span_bytes(m.payload), &h, NULL), OK);
        pushed |= h.type == WIRE_PUSHED;
        if (h.type == WIRE_PART) {
            answered = true;
            assert_memory_equal(span_data(m.payload), w->weights, span_bytes(m.payload));
            v->answered = h.step > v->answered ? h.step : v->answered;
        }
        span_drop(m.payload);
    }
}

static void server_set_kill(server_set *v, int i)
{
    atomic_store(&v->servers[i]->abort, true);
    assert_int_equal(server_end(v->servers[i]), E_ABORTED);
    peer_close(&v->masters[i]);
    peer_close(&v->workers[i]);
    server_fini(v->servers[i]);
    v->servers[i] = NULL;
}

/* The server that acts is gone after any number of steps: the other one is at the version answered
 * last, and goes on from there. Then a new one comes, is sent everything, and takes over in turn.
 */
static void test_promotion(void **state)
{
    (void)state;
    for (int n_steps = 1; n_steps < 4; n_steps++) {
        server_set v;
        assignment a;
        server_set_make(&v, &a);
        shape s = shape_small(LEAVES);
        s.optim = v.servers[0]->shape.optim;
        s.rates = v.servers[0]->shape.rates;
        whole w = whole_make(&s);
        for (int step = 0; step < n_steps; step++)
            server_set_step(&v, 0, &w, true);
        assert_int_equal(v.answered, n_steps);
        server_set_kill(&v, 0);
        a.keep = true;
        a.shards[0] = a.shards[1] = (holders){1, HOLDER_NONE, false};
        server_set_turn(&v, &a, ERA + 1);
        assert_int_equal(((Wire__Ready *)v.masters[1].message)->newest, v.answered);
        check_weights(&v.workers[1], &w);
        server_set_step(&v, 1, &w, true);

        server_set_start(&v, 0);
        a.shards[0] = a.shards[1] = (holders){1, 0, false};
        a.era = ERA + 2;
        a.place = 0;
        meet(v.servers[0], &a, &v.masters[0], &v.workers[0]);
        era_said = ERA + 2;
        a.place = 1;
        say_assignment(&v.masters[1], &a);
        hear(&v.masters[1], WIRE_BACKED); /* shard 1, which has no parts */
        hear(&v.masters[1], WIRE_READY);
        say(&v.masters[1], head_of(WIRE_REPORTED, 0, w.version), NULL, 0);
        hear(&v.masters[1], WIRE_BACKED);
        server_set_step(&v, 1, &w, true);
        server_set_step(&v, 1, &w, true);
        server_set_kill(&v, 1);
        a.shards[0] = a.shards[1] = (holders){0, HOLDER_NONE, false};
        server_set_turn(&v, &a, ERA + 3);
        assert_int_equal(((Wire__Ready *)v.masters[0].message)->newest, v.answered);
        check_weights(&v.workers[0], &w);
        server_set_step(&v, 0, &w, true);
        whole_fini(&w);
        shape_fini(&s);
        end_well(v.servers[0], &v.masters[0], &v.workers[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promotion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
