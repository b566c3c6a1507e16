/*
 * The deal in simulated clusters: workers of one to three lanes of any speed behind links of any speed,
 * noise, stalls, and lanes or links that change in mid-run. Against equal shares, and against the best
 * deal there is for whoever knows all speeds: every way to divide the slots among the workers, tried.
 *
 * A turn is what it is (master/lanes/shares.h), with noise: pull, compute slot after slot, push node after
 * node. Who is late goes on with its turn, needed or not, and joins the step that is open when it is done; what
 * it has on the servers stays there. Changes of the deal reach workers in the middle of a step; what is said
 * comes late where a link is slow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "common/parts/tree.h"
#include "master/lanes/deal.h"
#include "master/lanes/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double OVER_EQUAL = 1.05, OVER_BEST = 1.15;

enum { WORKERS = 4, LANES = 3, SLOTS = 24, TICK_US = 100000 };

typedef struct machine {
    uint32_t n_lanes;
    double slot_s[LANES], pull_s, push_s;
} machine;

typedef struct cluster {
    uint64_t seed;
    machine at[2][WORKERS]; /* before and after the change */
    uint32_t n, n_slots;
    double noise, stall;    /* deviation of the logarithm; share of turns that stall */
    int64_t n_steps;
} cluster;

/* --- drawing --- */

typedef struct dice {
    rng rng;
    uint64_t n;
} dice;

static double draw(dice *d)
{
    return (double)rng_below(&d->rng, d->n++, 1 << 30) / (1 << 30);
}

static double between(dice *d, double least, double most)
{
    return least * exp(draw(d) * log(most / least));
}

static machine draw_machine(dice *d, double slot_s)
{
    machine m = {.n_lanes = 1 + (uint32_t)(draw(d) * LANES)};
    double wire = draw(d) < 0.3 ? between(d, 0.1, 30) : between(d, 0.01, 0.3);
    double speed = draw(d) < 0.5 ? 1 : between(d, 0.3, 6);
    for (uint32_t i = 0; i < m.n_lanes; i++)
        m.slot_s[i] = slot_s * speed * (draw(d) < 0.8 ? 1 : between(d, 0.5, 3));
    m.pull_s = slot_s * wire;
    m.push_s = slot_s * wire * between(d, 0.5, 2);
    return m;
}

/* A lane or a link becomes slower or quicker. */
static void change(dice *d, machine *m)
{
    double by = between(d, 0.2, 6);
    if (draw(d) < 0.5) {
        m->slot_s[(uint32_t)(draw(d) * m->n_lanes)] *= by;
        return;
    }
    m->pull_s *= by;
    m->push_s *= by;
}

static cluster draw_cluster(uint64_t seed)
{
    dice d = {rng_make(seed, RNG_TEST, 7), 0};
    cluster c = {.seed = seed, .n = 2 + (uint32_t)(draw(&d) * (WORKERS - 1))};
    double slot_s = between(&d, 0.005, 0.5);
    uint32_t lanes = 0;
    for (uint32_t w = 0; w < c.n; w++) {
        c.at[0][w] = c.at[1][w] = draw_machine(&d, slot_s);
        lanes += c.at[0][w].n_lanes;
    }
    c.n_slots = lanes * (1 + (uint32_t)(draw(&d) * 4));
    c.n_slots = c.n_slots < SLOTS ? c.n_slots : SLOTS;
    c.noise = draw(&d) * 0.3;
    c.stall = draw(&d) < 0.5 ? 0 : 0.01 * draw(&d);
    if (draw(&d) < 0.4)
        change(&d, &c.at[1][(uint32_t)(draw(&d) * c.n)]);
    return c;
}

static const machine *machine_at(const cluster *c, uint32_t w, int64_t step)
{
    return &c->at[step >= c->n_steps / 2][w];
}

/* The same whoever deals: of a worker's work of a step, number `what`. */
static double noise_of(const cluster *c, int64_t step, uint32_t w, uint32_t what)
{
    uint64_t at = (((uint64_t)step * WORKERS + w) * 64 + what) * 4;
    rng r = rng_make(c->seed, RNG_TEST, 8);
    double u = ((double)rng_below(&r, at, 1 << 30) + 0.5) / (1 << 30);
    double v = (double)rng_below(&r, at + 1, 1 << 30) / (1 << 30);
    double normal = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    double stall = (double)rng_below(&r, at + 2, 1 << 30) / (1 << 30) < c->stall / 8 ? 20 : 1;
    return exp(c->noise * normal - c->noise * c->noise / 2) * stall;
}

/* --- a turn --- */

/* What a worker does of a step: a lane of its for each slot, or none. */
typedef int8_t duty[SLOTS];

/* A node of a worker's: when all its slots are computed, and what pushing it takes. */
typedef struct bundle {
    double ready_s, push_s;
} bundle;

/* Behind those that are complete before it. */
static void queue_bundle(bundle *at, size_t n, bundle b)
{
    for (; n > 0 && at[n - 1].ready_s > b.ready_s; n--)
        at[n] = at[n - 1];
    at[n] = b;
}

/* Lanes compute their slots in order; nodes leave one after another, as they become complete. */
static double work_s(const cluster *c, int64_t step, uint32_t w, const duty lane_of, double *ret_push_s)
{
    const machine *m = machine_at(c, w, step);
    bundle bundles[SLOTS];
    double lane_s[LANES] = {0}, end_s = 0;
    size_t n_bundles = 0;
    for (uint32_t k = 0, end; k < c->n_slots; k = end) {
        end = k + 1;
        if (lane_of[k] < 0)
            continue;
        while (end < c->n_slots && lane_of[end] >= 0)
            end++;
        tree_node nodes[64];
        size_t n = tree_cover(k, end, c->n_slots, nodes);
        for (size_t i = 0; i < n; i++) {
            double ready_s = 0;
            for (; k < tree_node_end(nodes[i], c->n_slots); k++) {
                lane_s[lane_of[k]] += m->slot_s[lane_of[k]] * noise_of(c, step, w, k);
                ready_s = fmax(ready_s, lane_s[lane_of[k]]);
            }
            queue_bundle(bundles, n_bundles++, (bundle){ready_s, m->push_s * noise_of(c, step, w, 25 + k)});
        }
    }
    *ret_push_s = 0;
    for (size_t i = 0; i < n_bundles; i++) {
        end_s = fmax(end_s, bundles[i].ready_s) + bundles[i].push_s;
        *ret_push_s += bundles[i].push_s;
    }
    return end_s;
}

static double turn_s(const cluster *c, int64_t step, uint32_t w, const duty lane_of)
{
    double push_s;
    for (uint32_t k = 0; k < c->n_slots; k++)
        if (lane_of[k] >= 0)
            return machine_at(c, w, step)->pull_s * noise_of(c, step, w, 63) +
                   work_s(c, step, w, lane_of, &push_s);
    return 0;
}

/* --- a deal that stays --- */

static void duties(const cluster *c, const view_lane *owners, duty ret[WORKERS])
{
    for (uint32_t w = 0; w < c->n; w++)
        for (uint32_t k = 0; k < c->n_slots; k++)
            ret[w][k] = owners[k].worker == w ? (int8_t)owners[k].lane : -1;
}

static double fixed_run_s(const cluster *c, const view_lane owners[2][SLOTS])
{
    double total = 0;
    for (int64_t t = 0; t < c->n_steps; t++) {
        duty all[WORKERS];
        double step_s = 0;
        duties(c, owners[t >= c->n_steps / 2], all);
        for (uint32_t w = 0; w < c->n; w++)
            step_s = fmax(step_s, turn_s(c, t, w, all[w]));
        total += step_s;
    }
    return total;
}

static void share_workers(const cluster *c, int after, share_worker ret[WORKERS])
{
    for (uint32_t w = 0; w < c->n; w++) {
        const machine *m = &c->at[after][w];
        ret[w] = (share_worker){{.worker = w}, m->n_lanes, m->slot_s, m->pull_s, m->push_s, false};
    }
}

/* Every way to divide the slots among the workers in order; within one as its lanes are ready first. */
static void try_all(const cluster *c, const share_worker *workers, uint32_t w, uint32_t from,
                    view_lane *owners, double *best_s, view_lane *best)
{
    if (w == c->n) {
        double s = shares_step(workers, c->n, owners, c->n_slots);
        if (s < *best_s) {
            *best_s = s;
            memcpy(best, owners, c->n_slots * sizeof *best);
        }
        return;
    }
    for (uint32_t n = w + 1 == c->n ? c->n_slots - from : 0; from + n <= c->n_slots; n++) {
        if (n)
            shares_deal(&(share_worker){workers[w].name, workers[w].n_lanes, workers[w].slot_s, 0, 0, false}, 1, n,
                        owners + from);
        try_all(c, workers, w + 1, from + n, owners, best_s, best);
    }
}

static double optimum_s(const cluster *c, int after, view_lane *best)
{
    share_worker workers[WORKERS] = {0};
    view_lane owners[SLOTS] = {0};
    double best_s = INFINITY;
    share_workers(c, after, workers);
    try_all(c, workers, 0, 0, owners, &best_s, best);
    return best_s;
}

static double equal_run_s(const cluster *c)
{
    share_worker workers[WORKERS];
    static const double ones[LANES] = {1, 1, 1};
    view_lane owners[2][SLOTS];
    share_workers(c, 0, workers);
    for (uint32_t w = 0; w < c->n; w++) {
        workers[w].slot_s = ones;
        workers[w].fixed_s = workers[w].push_s = 0;
    }
    shares_deal(workers, c->n, c->n_slots, owners[0]);
    memcpy(owners[1], owners[0], sizeof owners[0]);
    return fixed_run_s(c, (const view_lane(*)[SLOTS])owners);
}

/* --- the deal under test --- */

typedef struct hand {
    duty lane_of;       /* what it does of the step it is at */
    int64_t step;
    int64_t begin_us;   /* since then */
    int64_t there_us[SLOTS]; /* when a slot is on the servers: it stays there, whatever is added */
    int64_t end_us;     /* when all is, and it has time for the next step */
    double push_s;
    bool is_told;       /* it has said so, as of the view */
    bool was_measured;
} hand;

typedef struct word {
    int64_t at_us;
    deal_delivery what;
} word;

typedef struct world {
    const cluster *c;
    deal *deal;
    hedge_lane lanes[WORKERS * LANES];
    size_t n_lanes;
    hand hands[WORKERS];
    word words[64];     /* on their way to the master */
    size_t n_words;
    uint32_t view;
    int64_t now_us, open_us, step;
} world;

static int64_t us(double seconds)
{
    return (int64_t)(seconds * 1e6);
}

/* As the view has it now. */
static int8_t duty_of(const world *x, uint32_t w, uint32_t k)
{
    const view_lane *owner = &deal_owners(x->deal)[k], *hedger = deal_hedge(x->deal, k);
    return owner->worker == w              ? (int8_t)owner->lane
           : hedger && hedger->worker == w ? (int8_t)hedger->lane
                                           : -1;
}

/* Own slots, then those it hedges. What is added later is nodes of its own. */
static void add_duties(world *x, uint32_t w)
{
    hand *h = &x->hands[w];
    duty more;
    for (int hedged = 0; hedged < 2; hedged++) {
        bool any = false;
        for (uint32_t k = 0; k < x->c->n_slots; k++) {
            bool mine = (deal_owners(x->deal)[k].worker != w) == hedged;
            more[k] = h->lane_of[k] < 0 && mine ? duty_of(x, w, k) : -1;
            any |= more[k] >= 0;
        }
        if (!any)
            continue;
        double push_s, s = work_s(x->c, x->step, w, more, &push_s);
        h->end_us = (h->end_us > x->now_us ? h->end_us : x->now_us) + us(s);
        for (uint32_t k = 0; k < x->c->n_slots; k++)
            if (more[k] >= 0) {
                h->lane_of[k] = more[k];
                h->there_us[k] = h->end_us;
            }
        h->push_s += push_s;
        h->is_told = false;
    }
}

/* What its lanes have computed, whether the step is over or not. */
static void report(world *x, uint32_t w)
{
    hand *h = &x->hands[w];
    for (uint32_t k = 0; !h->was_measured && k < x->c->n_slots; k++)
        if (h->lane_of[k] >= 0)
            deal_report(x->deal, &(view_lane){.worker = w, .lane = (uint32_t)h->lane_of[k]},
                        machine_at(x->c, w, h->step)->slot_s[h->lane_of[k]] * noise_of(x->c, h->step, w, k));
    h->was_measured = true;
}

static void begin_turn(world *x, uint32_t w)
{
    hand *h = &x->hands[w];
    if (h->step < x->step)
        report(x, w);
    bool any = false;
    for (uint32_t k = 0; k < x->c->n_slots; k++) {
        h->lane_of[k] = -1;
        any |= duty_of(x, w, k) >= 0;
    }
    h->step = x->step;
    h->push_s = 0;
    h->is_told = h->was_measured = false;
    h->begin_us = h->end_us = x->now_us;
    if (any)
        h->end_us += us(machine_at(x->c, w, x->step)->pull_s * noise_of(x->c, x->step, w, 63));
    add_duties(x, w);
    h->is_told = !any;
}

static void say(world *x, uint32_t w)
{
    hand *h = &x->hands[w];
    int64_t late_us = 500 + us(machine_at(x->c, w, x->step)->push_s * 0.3);
    h->is_told = true;
    assert_true(x->n_words < sizeof x->words / sizeof x->words[0]);
    x->words[x->n_words++] = (word){
        x->now_us + late_us,
        {{.worker = w}, h->step, x->view, (double)(h->end_us - h->begin_us) * 1e-6, h->push_s}};
    report(x, w);
}

static void new_view(world *x)
{
    x->view++;
    for (uint32_t w = 0; w < x->c->n; w++)
        if (x->hands[w].step == x->step) {
            x->hands[w].is_told = false;
            add_duties(x, w);
        }
}

static void look(world *x)
{
    if (deal_look(x->deal, x->lanes, x->n_lanes, x->view + 1, x->now_us) != DEAL_SAME)
        new_view(x);
}

static void hear(world *x)
{
    for (size_t i = 0; i < x->n_words;) {
        if (x->words[i].at_us > x->now_us) {
            i++;
            continue;
        }
        deal_delivery what = x->words[i].what;
        memmove(x->words + i, x->words + i + 1, (--x->n_words - i) * sizeof *x->words);
        if (deal_delivered(x->deal, &what, x->now_us))
            new_view(x);
    }
}

static bool all_on_servers(const world *x)
{
    for (uint32_t k = 0; k < x->c->n_slots; k++) {
        bool is_there = false;
        for (uint32_t w = 0; w < x->c->n; w++)
            is_there |= x->hands[w].step == x->step && x->hands[w].lane_of[k] >= 0 &&
                        x->hands[w].there_us[k] <= x->now_us;
        if (!is_there)
            return false;
    }
    return true;
}

/* The next moment at which something happens. */
static int64_t next_us(const world *x)
{
    int64_t at = (x->now_us / TICK_US + 1) * TICK_US;
    for (uint32_t w = 0; w < x->c->n; w++) {
        const hand *h = &x->hands[w];
        at = h->end_us > x->now_us && h->end_us < at ? h->end_us : at;
        for (uint32_t k = 0; k < x->c->n_slots; k++)
            if (h->lane_of[k] >= 0 && h->there_us[k] > x->now_us && h->there_us[k] < at)
                at = h->there_us[k];
    }
    for (size_t i = 0; i < x->n_words; i++)
        at = x->words[i].at_us > x->now_us && x->words[i].at_us < at ? x->words[i].at_us : at;
    return at;
}

static void move(world *x)
{
    x->now_us = next_us(x);
    for (uint32_t w = 0; w < x->c->n; w++) {
        hand *h = &x->hands[w];
        if (h->end_us <= x->now_us && !h->is_told && h->step == x->step)
            say(x, w);
    }
    if (all_on_servers(x))
        x->step++;
    for (uint32_t w = 0; w < x->c->n; w++)
        if (x->hands[w].step < x->step && x->hands[w].end_us <= x->now_us)
            begin_turn(x, w);
    hear(x);
    if (x->now_us % TICK_US == 0)
        look(x);
}

static double run_s(const cluster *c)
{
    world x = {.c = c};
    steps s = {.examples = (int64_t)1 << 40, .batch_size = 1, .per_step = c->n_slots};
    for (uint32_t w = 0; w < c->n; w++)
        for (uint32_t l = 0; l < c->at[0][w].n_lanes; l++)
            x.lanes[x.n_lanes++].lane = (view_lane){.worker = w, .lane = l};
    x.deal = deal_create(&s, 0, true);
    deal_anew(x.deal, x.lanes, x.n_lanes, ++x.view, 0);
    for (uint32_t w = 0; w < c->n; w++)
        begin_turn(&x, w);
    while (x.step < c->n_steps)
        move(&x);
    deal_destroy(&x.deal);
    return (double)x.now_us * 1e-6;
}

/* Long enough that finding out is a small part of it. */
static int64_t steps_for(double seconds, double step_s)
{
    double n = seconds / step_s;
    return n < 300 ? 300 : n > 4000 ? 4000 : (int64_t)n;
}

/* What our run took over equal shares, and over the best deals. */
static void judge(uint64_t number, double *ret_over_equal, double *ret_over_best)
{
    cluster c = draw_cluster(number);
    view_lane best[2][SLOTS];
    double step_s = optimum_s(&c, 0, best[0]);
    (void)optimum_s(&c, 1, best[1]);
    c.n_steps = steps_for(300, step_s);
    double ours = run_s(&c), equal = equal_run_s(&c);
    double optimum = fixed_run_s(&c, (const view_lane(*)[SLOTS])best);
    *ret_over_equal = ours / equal;
    *ret_over_best = ours / optimum;
    if (ours > OVER_EQUAL * equal || ours > OVER_BEST * optimum)
        print_message("cluster %llu: %u workers, %u slots, noise %.2f, %lld steps: %.3f of equal shares, "
                      "%.3f of the best\n",
                      (unsigned long long)number, c.n, c.n_slots, c.noise, (long long)c.n_steps, ours / equal,
                      ours / optimum);
}

static uint64_t first, n_clusters = 60;

typedef struct worst {
    double over_equal, over_best;
} worst;

/* What finding out costs is counted: the best deals know all speeds from the first step on. */
static void judge_into(uint64_t number, worst *w)
{
    double over_equal, over_best;
    judge(number, &over_equal, &over_best);
    w->over_equal = fmax(w->over_equal, over_equal);
    w->over_best = fmax(w->over_best, over_best);
}

static void no_cluster_is_dealt_badly(void **state)
{
    (void)state;
    worst w = {0};
    for (uint64_t i = first; i < first + n_clusters; i++)
        judge_into(i, &w);
    print_message("%llu clusters, worst: %.3f of equal shares, %.3f of the best\n",
                  (unsigned long long)n_clusters, w.over_equal, w.over_best);
    assert_true(w.over_equal <= OVER_EQUAL);
    assert_true(w.over_best <= OVER_BEST);
}

/* Of those that were once, each for a cause of its own. */
static void nor_are_these(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {1000041, 2000558, 2000686, 2000778};
    worst w = {0};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        judge_into(numbers[i], &w);
    assert_true(w.over_equal <= OVER_EQUAL);
    assert_true(w.over_best <= OVER_BEST);
}

/* deal_simulation_test [CLUSTERS [FIRST]] */
int main(int argc, char **argv)
{
    if (argc > 1)
        n_clusters = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        first = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_cluster_is_dealt_badly),
        cmocka_unit_test(nor_are_these),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
