#include "common/live/time_shares.h"

#include <math.h>

const time_share_row time_share_rows[SHARE_COUNT] = {
#define SHARE(id, key, words) {key, words},
#include "common/live/time_shares.def"
#undef SHARE
};

double time_figure(const json_t *figures, counter c)
{
    double value = json_number_value(json_object_get(figures, counter_rows[c].name));
    return isfinite(value) && value > 0 ? value : 0;
}

/* --- one worker --- */

/* What the master held all back for, as it says itself. */
static void divide_held(double held_s, const json_t *master, time_shares *t)
{
    static const struct {
        counter figure;
        time_share share;
    } causes[] = {{COUNTER_MASTER_FOR_EVALUATIONS, SHARE_EVALUATIONS}, {COUNTER_MASTER_FOR_DISK, SHARE_DISK}};
    double checkpoints = time_figure(master, COUNTER_MASTER_FOR_CHECKPOINTS), sum = checkpoints, left_s = held_s;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        sum += time_figure(master, causes[i].figure);
    for (size_t i = 0; sum > 0 && i < sizeof causes / sizeof *causes; i++) {
        double share_s = held_s * time_figure(master, causes[i].figure) / sum;
        t->seconds[causes[i].share] += share_s;
        left_s -= share_s;
    }
    t->seconds[SHARE_CHECKPOINTS] += left_s > 0 ? left_s : 0;
}

void time_shares_of_worker(const json_t *figures, const json_t *master, time_shares *ret)
{
    time_shares t = {.lane_s = 0};
    double still_s = time_figure(figures, COUNTER_WORKER_WAITING) + time_figure(figures, COUNTER_WORKER_IDLE) -
                     time_figure(figures, COUNTER_WORKER_STARTING);
    t.seconds[SHARE_INPUT] = time_figure(figures, COUNTER_WORKER_LOADING);
    t.seconds[SHARE_COMPUTE] = time_figure(figures, COUNTER_WORKER_COMPUTING);
    t.seconds[SHARE_LOST] = time_figure(figures, COUNTER_WORKER_GIVEN_UP);
    t.seconds[SHARE_WIRE] = time_figure(figures, COUNTER_WORKER_FOR_WIRE);
    t.seconds[SHARE_SERVERS] = time_figure(figures, COUNTER_WORKER_FOR_SERVERS);
    t.seconds[SHARE_STRAGGLERS] = time_figure(figures, COUNTER_WORKER_FOR_LANES);
    double held_s = time_figure(figures, COUNTER_WORKER_FOR_MASTER);
    double idle_s =
        still_s - held_s - t.seconds[SHARE_WIRE] - t.seconds[SHARE_SERVERS] - t.seconds[SHARE_STRAGGLERS];
    t.seconds[SHARE_IDLE] = idle_s > 0 ? idle_s : 0;
    divide_held(held_s, master, &t);
    for (int i = 0; i < SHARE_COUNT; i++)
        t.lane_s += t.seconds[i];
    *ret = t;
}

/* --- among others --- */

static void add_sums(const json_t *figures, double sign, time_sums *ret)
{
    time_shares its;
    time_shares_of_worker(figures, NULL, &its);
    ret->slots += sign * time_figure(figures, COUNTER_WORKER_SLOTS);
    ret->computing_s += sign * its.seconds[SHARE_COMPUTE];
    ret->loading_s += sign * its.seconds[SHARE_INPUT];
    ret->waits_s += sign * its.seconds[SHARE_STRAGGLERS];
    ret->lane_s += sign * its.lane_s;
}

time_sums time_sums_of(const json_t *live)
{
    time_sums sums = {.slots = 0};
    size_t i;
    json_t *worker;
    json_array_foreach(json_object_get(live, "workers"), i, worker)
        add_sums(json_object_get(worker, "figures"), 1, &sums);
    return sums;
}

/* What is left of sums by rounding is nothing: figures are of whole slots and microseconds. */
static double none_if_tiny(double value)
{
    return value > 0.5e-6 ? value : 0;
}

time_sums time_sums_but(const time_sums *all, const json_t *figures)
{
    time_sums rest = *all;
    add_sums(figures, -1, &rest);
    return (time_sums){.slots = none_if_tiny(rest.slots),
                       .computing_s = none_if_tiny(rest.computing_s),
                       .loading_s = none_if_tiny(rest.loading_s),
                       .waits_s = none_if_tiny(rest.waits_s),
                       .lane_s = none_if_tiny(rest.lane_s)};
}

/* What one computes longer than the others, while these wait for it, is no more its computing than theirs. */
static void move_excess(const json_t *figures, const time_sums *all, time_shares *t)
{
    time_sums others = time_sums_but(all, figures);
    double slot_s = others.slots > 0 ? others.computing_s / others.slots : 0;
    double excess = t->seconds[SHARE_COMPUTE] - time_figure(figures, COUNTER_WORKER_SLOTS) * slot_s;
    double most = others.lane_s > 0 ? others.waits_s / others.lane_s * t->lane_s : 0;
    double moved = excess < most ? excess : most;
    if (slot_s <= 0 || moved <= 0)
        return;
    t->seconds[SHARE_COMPUTE] -= moved;
    t->seconds[SHARE_STRAGGLERS] += moved;
}

void time_shares_among(const json_t *figures, const json_t *master, const time_sums *all, time_shares *ret)
{
    time_shares_of_worker(figures, master, ret);
    move_excess(figures, all, ret);
}

/* --- a job --- */

void time_shares_of_job(const json_t *live, time_shares *ret)
{
    const json_t *master = json_object_get(json_object_get(live, "master"), "figures");
    const time_sums all = time_sums_of(live);
    size_t i;
    json_t *worker;
    *ret = (time_shares){.lane_s = 0};
    json_array_foreach(json_object_get(live, "workers"), i, worker)
    {
        time_shares one;
        time_shares_among(json_object_get(worker, "figures"), master, &all, &one);
        ret->lane_s += one.lane_s;
        for (int k = 0; k < SHARE_COUNT; k++)
            ret->seconds[k] += one.seconds[k];
    }
}

double time_share_of(const time_shares *t, time_share which)
{
    return t->lane_s > 0 ? t->seconds[which] / t->lane_s : 0;
}

time_share time_shares_bound(const time_shares *t)
{
    time_share bound = SHARE_COMPUTE;
    for (int i = 0; i < SHARE_COUNT; i++)
        if (t->seconds[i] > t->seconds[bound])
            bound = (time_share)i;
    return bound;
}

/* What is lost by rounding down goes to those that lost most. */
void time_shares_round(const time_shares *t, int ret[SHARE_COUNT])
{
    double lost[SHARE_COUNT];
    int sum = 0;
    for (int i = 0; i < SHARE_COUNT; i++) {
        double tenths = 1000 * time_share_of(t, (time_share)i);
        ret[i] = (int)tenths;
        lost[i] = tenths - ret[i];
        sum += ret[i];
    }
    for (; t->lane_s > 0 && sum < 1000; sum++) {
        int most = 0;
        for (int i = 1; i < SHARE_COUNT; i++)
            most = lost[i] > lost[most] ? i : most;
        ret[most]++;
        lost[most] = -1;
    }
}

json_t *time_shares_json(const time_shares *t)
{
    json_t *shares = json_object();
    for (int i = 0; i < SHARE_COUNT; i++)
        json_object_set_new(shares, time_share_rows[i].key, json_real(time_share_of(t, (time_share)i)));
    return json_pack("{s:f, s:s, s:o}", "lane_s", t->lane_s, "bound", time_share_rows[time_shares_bound(t)].key,
                     "shares", shares);
}
