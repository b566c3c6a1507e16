/*
 * The sync_driver under fire: workers come, die, freeze, lose connections and are given slots anew at
 * any moment, in hundreds of random orders of events. Always: what a lane reads is whole and of the
 * slot's version; what is pushed is the sum it claims to be; versions of two parts never differ by
 * more than one. And as soon as the world is at peace, whoever is left finishes the job.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "unit/worker/support_hand.h"

#include <stdlib.h>
#include <string.h>

enum { HANDS = 4, TOTAL = 17, VIEWS = 64, SCHEDULES = 400, WAR = 6000, PEACE = 200000 };

typedef struct view {
    int32_t owner[KEEP_SLOTS], hedge[KEEP_SLOTS]; /* hand * HAND_LANES + lane; -1: nobody's */
    int64_t since, limit;
} view;

/* What the master knows of a worker, and what is on its way to it. */
typedef struct place {
    hand *hand; /* NULL: dead */
    bool believed, begun, frozen;
    view views[VIEWS];
    size_t n_views;
} place;

typedef struct world {
    rng rng;
    uint64_t draws;
    keep keep;
    place at[HANDS];
    view view; /* the newest */
    bool is_in[TOTAL][KEEP_SLOTS];
    int64_t reported; /* steps all of whose slots have reported */
} world;

static uint64_t draw(world *w, uint64_t bound)
{
    return rng_below(&w->rng, w->draws++, bound);
}

static void hands_of(const world *w, hand *ret[HANDS])
{
    for (int i = 0; i < HANDS; i++)
        ret[i] = w->at[i].hand;
}

/* --- the master --- */

static void send_view(world *w, int i)
{
    place *p = &w->at[i];
    if (p->hand && p->n_views < VIEWS)
        p->views[p->n_views++] = w->view;
}

/* A lane of a worker that is believed to live, or nobody's when there is none. */
static int32_t any_lane(world *w)
{
    int32_t living[HANDS], n = 0;
    for (int32_t i = 0; i < HANDS; i++)
        if (w->at[i].believed)
            living[n++] = i;
    return n ? living[draw(w, (uint64_t)n)] * HAND_LANES + (int32_t)draw(w, HAND_LANES) : -1;
}

static void deal(world *w, bool hedges)
{
    bool runs = draw(w, 2);
    int32_t owner = any_lane(w);
    for (int s = 0; s < KEEP_SLOTS; s++) {
        if (!runs || draw(w, 3) == 0)
            owner = any_lane(w);
        w->view.owner[s] = owner;
        w->view.hedge[s] = hedges && draw(w, 3) == 0 ? any_lane(w) : -1;
    }
    w->view.since = w->reported > 0 ? w->reported - 1 : 0;
    for (int i = 0; i < HANDS; i++)
        send_view(w, i);
}

static void raise_limit(world *w, int64_t to)
{
    w->view.limit = to < TOTAL ? to : TOTAL;
    for (int i = 0; i < HANDS; i++)
        send_view(w, i);
}

static void take_report(world *w, int i)
{
    hand_report r;
    if (!hand_take_report(w->at[i].hand, &r))
        return;
    w->is_in[r.step][r.slot] = true;
    for (;;) {
        uint32_t n = 0;
        for (uint32_t s = 0; w->reported < TOTAL && s < steps_slots(&w->keep.steps, w->reported);
             s++)
            n += w->is_in[w->reported][s];
        if (w->reported == TOTAL || n < steps_slots(&w->keep.steps, w->reported))
            return;
        w->reported++;
    }
}

/* --- workers --- */

static void begin(sync_driver *f, const steps *s, int64_t step, int64_t limit)
{
    sync_driver_era era = {.identity = &(wire_head){.era = 1}, .steps = *s, .step = step, .limit = limit};
    assert_int_equal(sync_driver_begin(f, &era, NULL), OK);
}

static void take_view(world *w, int i)
{
    place *p = &w->at[i];
    if (!p->n_views)
        return;
    view v = p->views[0];
    memmove(p->views, p->views + 1, --p->n_views * sizeof v);
    sync_driver *f = hand_driver(p->hand);
    if (!p->begun)
        begin(f, &w->keep.steps, v.since, v.limit);
    p->begun = true;
    int32_t own[KEEP_SLOTS], hedged[KEEP_SLOTS];
    for (int s = 0; s < KEEP_SLOTS; s++) {
        own[s] = v.owner[s] >= 0 && v.owner[s] / HAND_LANES == i ? v.owner[s] % HAND_LANES : -1;
        hedged[s] = v.hedge[s] >= 0 && v.hedge[s] / HAND_LANES == i ? v.hedge[s] % HAND_LANES : -1;
    }
    lane_share share = {(size_t)w->keep.steps.per_step, own, hedged, v.since};
    assert_int_equal(sync_driver_own(f, &share, NULL), OK);
    assert_int_equal(sync_driver_limit(f, v.limit, NULL), OK);
}

static void start(world *w, int i)
{
    place *p = &w->at[i];
    if (p->hand)
        return;
    *p = (place){.hand = hand_start(&w->keep), .believed = true};
    if (draw(w, 2))
        deal(w, true);
    else
        send_view(w, i); /* it begins without slots */
}

static void kill_one(world *w, int i)
{
    hand *all[HANDS];
    hands_of(w, all);
    if (!w->at[i].hand)
        return;
    all[i] = NULL;
    hand_kill(&w->at[i].hand, all, HANDS, draw(w, 12));
    w->at[i].n_views = 0;
}

/* --- time --- */

static void something_happens(world *w)
{
    int i = (int)draw(w, HANDS);
    place *p = &w->at[i];
    int32_t part = (int32_t)draw(w, KEEP_PARTS);
    hand *all[HANDS];
    hands_of(w, all);
    if (!p->hand || p->frozen)
        return;
    switch (draw(w, 8)) {
    case 0:
    case 1:
    case 2:
        hand_move_lane(p->hand, (int32_t)draw(w, HAND_LANES));
        break;
    case 3:
        hand_say(p->hand, part, all, HANDS);
        break;
    case 4:
        if (p->begun)
            hand_hear(p->hand, part);
        break;
    case 5:
        if (p->begun)
            hand_serve(p->hand);
        break;
    case 6:
        take_view(w, i);
        break;
    default:
        take_report(w, i);
    }
}

static void something_breaks(world *w)
{
    int i = (int)draw(w, HANDS);
    place *p = &w->at[i];
    switch (draw(w, 8)) {
    case 0:
        kill_one(w, i);
        break;
    case 1:
    case 2:
        start(w, i);
        break;
    case 3:
        p->believed = p->hand && draw(w, 4); /* sometimes wrongly suspected */
        deal(w, true);
        break;
    case 4:
        deal(w, true);
        break;
    case 5:
        p->frozen = !p->frozen;
        break;
    case 6:
        raise_limit(w, w->view.limit + 1 + (int64_t)draw(w, 3));
        break;
    default:
        if (p->hand)
            hand_redial(p->hand, (int32_t)draw(w, KEEP_PARTS));
    }
}

/* Nobody dies any more, the master knows who lives, and only they have slots. */
static void make_peace(world *w, int survivors)
{
    for (int i = survivors; i < HANDS; i++)
        kill_one(w, i);
    start(w, 0);
    for (int i = 0; i < HANDS; i++) {
        w->at[i].frozen = false;
        w->at[i].believed = w->at[i].hand;
        w->at[i].n_views = w->at[i].begun ? 0 : w->at[i].n_views;
    }
    deal(w, draw(w, 2));
    raise_limit(w, TOTAL);
}

static void run_world(uint64_t seed)
{
    world w = {.rng = rng_make(seed, RNG_TEST, 41)};
    steps s = {.batch_size = 4, .per_step = 1 + (int64_t)draw(&w, KEEP_SLOTS)};
    s.examples = 4 * (s.per_step + (int64_t)draw(&w, 2 * KEEP_SLOTS));
    keep_begin(&w.keep, &s, 0);
    w.view.limit = 1 + (int64_t)draw(&w, 4);
    for (int i = 0; i < HANDS; i++)
        start(&w, i);
    deal(&w, false);
    uint64_t calm = 4 + draw(&w, 200); /* events between two accidents */
    for (int i = 0; i < WAR; i++) {
        something_happens(&w);
        if (draw(&w, calm) == 0)
            something_breaks(&w);
    }
    make_peace(&w, 1 + (int)draw(&w, HANDS));
    int left = PEACE;
    while (!keep_all_at(&w.keep, TOTAL) && left-- > 0)
        something_happens(&w);
    if (left < 0)
        fail_msg("seed %llu: at peace, yet stuck at versions %lld, %lld, %lld",
                 (unsigned long long)seed, (long long)w.keep.version[0],
                 (long long)w.keep.version[1], (long long)w.keep.version[2]);
    for (int i = 0; i < HANDS; i++)
        kill_one(&w, i);
}

static void every_schedule_ends(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SCHEDULES; seed++)
        run_world(seed);
}

/* The servers make `speed` steps while one message of ours is on its way. */
static void race(int speed)
{
    keep k;
    steps s = {.examples = 48, .batch_size = 4, .per_step = 3};
    keep_begin(&k, &s, 0);
    hand *h = hand_start(&k);
    int32_t none[] = {-1, -1, -1};
    lane_share share = {COUNT_OF(none), none, none, 0};
    begin(hand_driver(h), &s, 0, INT64_MAX);
    assert_int_equal(sync_driver_own(hand_driver(h), &share, NULL), OK);
    for (int turn = 0; turn < 100 && !sync_driver_is_whole(hand_driver(h)); turn++)
        for (int32_t part = 0; part < KEEP_PARTS; part++) {
            hand_say(h, part, NULL, 0);
            hand_hear(h, part);
            for (int32_t p = 0; p < speed * KEEP_LIVE; p++) {
                keep_step(&k, p % KEEP_LIVE);
                hand_answer_waiting(h, p % KEEP_LIVE);
            }
        }
    assert_true(sync_driver_is_whole(hand_driver(h)));
    hand_kill(&h, NULL, 0, 0);
}

static void who_owes_nothing_catches_up_with_fast_servers(void **state)
{
    (void)state;
    for (int speed = 0; speed <= 12; speed++)
        race(speed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_ends),
        cmocka_unit_test(who_owes_nothing_catches_up_with_fast_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
