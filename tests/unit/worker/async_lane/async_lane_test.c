/*
 * Runners and the master's leases under fire: workers die, freeze, are thought dead and come back,
 * connections and messages are lost, eras begin, in hundreds of random orders of events. Always:
 * what is pushed is what was computed, from weights as new as the start rule asks for, and a batch
 * that is reported is on every part. And as soon as the world is at peace, whoever is left finishes
 * the job: nobody waits for a batch that nobody computes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "master/lanes/leases.h"
#include "unit/worker/async_lane/support_stage.h"

#include <stdlib.h>

enum { ACTORS = 4, TOTAL = 60, INBOX = 64, SCHEDULES = 300, WAR = 3000, PEACE = 200000 };

typedef struct place {
    actor *actor; /* NULL: dead */
    bool believed, frozen;
    lease inbox[INBOX];
    size_t n_inbox;
} place;

typedef struct world {
    rng rng;
    uint64_t draws;
    stage stage;
    leases *leases;
    int64_t now_us;
    place at[ACTORS];
    int reported[TOTAL];
} world;

static uint64_t draw(world *w, uint64_t bound)
{
    return rng_below(&w->rng, w->draws++, bound);
}

/* --- the master --- */

static void tell_lanes(world *w)
{
    view_lane lanes[ACTORS];
    size_t n = 0;
    for (uint32_t i = 0; i < ACTORS; i++)
        if (w->at[i].believed)
            lanes[n++] = (view_lane){.worker = i};
    leases_lanes(w->leases, lanes, n);
}

static void say_leases(world *w, bool loses)
{
    lease l;
    w->now_us += 300000;
    while (leases_next(w->leases, TOTAL, w->now_us, &l)) {
        place *p = &w->at[l.lane.worker];
        if (p->actor && p->n_inbox < INBOX && !(loses && draw(w, 5) == 0))
            p->inbox[p->n_inbox++] = l;
    }
}

static void take_reports(world *w, place *p, bool loses)
{
    int64_t batch;
    while (actor_take_report(p->actor, &batch))
        if (!(loses && draw(w, 5) == 0))
            w->reported[batch] += leases_report(w->leases, batch, w->now_us);
}

/* What is on every part is done, the rest is leased anew. */
static void begin_era(world *w)
{
    batch_set applied = BATCH_SET_INIT;
    stage_of_all(&w->stage, &applied);
    leases_begin(w->leases, &applied);
    for (int b = 0; b < TOTAL; b++)
        w->reported[b] = batch_set_has(&applied, b);
    batch_set_fini(&applied);
    for (int i = 0; i < ACTORS; i++) {
        w->at[i].n_inbox = 0;
        if (w->at[i].actor)
            actor_begin(w->at[i].actor);
    }
}

/* --- the world --- */

static void move(world *w, int i, bool loses)
{
    place *p = &w->at[i];
    if (!p->actor || p->frozen)
        return;
    int32_t part = (int32_t)draw(w, STAGE_PARTS);
    switch (draw(w, 6)) {
    case 0:
        actor_move_lane(p->actor);
        break;
    case 1:
        if (actor_say(p->actor, part))
            for (int k = 0; k < ACTORS; k++)
                if (w->at[k].actor)
                    actor_answer(w->at[k].actor);
        break;
    case 2:
        actor_hear(p->actor, part);
        break;
    case 3:
        if (p->n_inbox) {
            lease l = p->inbox[0];
            for (size_t k = 1; k < p->n_inbox; k++)
                p->inbox[k - 1] = p->inbox[k];
            p->n_inbox--;
            actor_lease(p->actor, l.batch, l.floor);
        }
        break;
    case 4:
        actor_serve(p->actor);
        break;
    default:
        take_reports(w, p, loses);
        break;
    }
}

static void kill_one(world *w, place *p)
{
    if (p->actor)
        actor_kill(&p->actor, draw(w, 4));
    p->n_inbox = 0;
    p->frozen = false;
}

static void disturb(world *w)
{
    uint32_t i = (uint32_t)draw(w, ACTORS);
    place *p = &w->at[i];
    switch (draw(w, 7)) {
    case 0:
        kill_one(w, p);
        break;
    case 1:
        if (!p->actor) {
            p->actor = actor_start(&w->stage);
            leases_lost(w->leases, false, i);
            p->believed = true;
            tell_lanes(w);
        }
        break;
    case 2:
        p->believed = !p->believed && p->actor;
        tell_lanes(w);
        break;
    case 3:
    case 4:
        p->frozen = !p->frozen && p->actor;
        break;
    case 5:
        if (p->actor)
            actor_redial(p->actor, (int32_t)draw(w, STAGE_PARTS));
        break;
    default:
        if (draw(w, 8) == 0)
            begin_era(w);
        break;
    }
}

/* The master has missed who is dead or frozen; somebody lives. */
static void make_peace(world *w)
{
    for (int i = 0; i < ACTORS; i++)
        w->at[i].believed = w->at[i].actor && !w->at[i].frozen;
    place *p = &w->at[draw(w, ACTORS)];
    if (!p->believed) {
        kill_one(w, p);
        p->actor = actor_start(&w->stage);
        p->believed = true;
        leases_lost(w->leases, false, (uint32_t)(p - w->at));
    }
    tell_lanes(w);
}

static void run(uint64_t seed, int64_t staleness)
{
    world w = {.rng = rng_make(seed, RNG_TEST, (uint64_t)staleness + 1)};
    stage_begin(&w.stage, TOTAL);
    w.leases = leases_create(
        &(leases_options){.schedule = {.staleness = staleness}, .batches_per_step = 3});
    batch_set none = BATCH_SET_INIT;
    leases_begin(w.leases, &none);
    for (int i = 0; i < ACTORS; i++) {
        w.at[i].actor = actor_start(&w.stage);
        w.at[i].believed = true;
    }
    tell_lanes(&w);
    for (int t = 0; t < WAR; t++) {
        if (draw(&w, 40) == 0)
            disturb(&w);
        if (draw(&w, 10) == 0)
            say_leases(&w, true);
        move(&w, (int)draw(&w, ACTORS), true);
    }
    make_peace(&w);
    int t = 0;
    for (; leases_floor(w.leases) < TOTAL && t < PEACE; t++) {
        if (t % 50 == 0)
            say_leases(&w, false);
        move(&w, (int)draw(&w, ACTORS), false);
    }
    if (t == PEACE)
        fail_msg("seed %d, staleness %d: all wait at batch %d", (int)seed, (int)staleness,
                 (int)leases_floor(w.leases));
    for (int b = 0; b < TOTAL; b++)
        assert_int_equal(w.reported[b], 1);
    for (int p = 0; p < STAGE_LIVE; p++) {
        assert_int_equal(w.stage.applied[p].floor, TOTAL);
        assert_int_equal(batch_set_count(&w.stage.applied[p]), TOTAL);
    }
    for (int i = 0; i < ACTORS; i++)
        if (w.at[i].actor)
            actor_kill(&w.at[i].actor, 0);
    leases_destroy(&w.leases);
    stage_end(&w.stage);
}

static void test_async(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SCHEDULES; seed++)
        run(seed, -1);
}

static void test_ssp(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SCHEDULES; seed++)
        run(seed, (int64_t)seed % 3);
}

/* A batch without all its weights gives way to a lower one, and comes after it. */
static void test_gives_way(void **state)
{
    (void)state;
    stage s;
    int64_t batch = -1;
    stage_begin(&s, TOTAL);
    actor *a = actor_start(&s);
    actor_lease(a, 9, 3); /* waits for batches 0 to 2 */
    for (int32_t p = 0; p < STAGE_PARTS; p++)
        while (actor_say(a, p) || actor_hear(a, p))
            ;
    assert_false(actor_take_report(a, &batch));
    for (int64_t b = 2; b >= 0; b--)
        actor_lease(a, b, 0);
    for (int64_t b = 0; b < 4; b++) {
        for (int i = 0; i < 2000 && !actor_take_report(a, &batch); i++) {
            actor_move_lane(a);
            actor_serve(a);
            actor_say(a, i % STAGE_PARTS);
            actor_answer(a);
            actor_hear(a, i % STAGE_PARTS);
        }
        assert_int_equal(batch, b < 3 ? b : 9);
    }
    actor_lease(a, 2, 0); /* leased again: only the report had been lost */
    assert_true(actor_take_report(a, &batch));
    assert_int_equal(batch, 2);
    actor_kill(&a, 0);
    stage_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gives_way),
        cmocka_unit_test(test_async),
        cmocka_unit_test(test_ssp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
