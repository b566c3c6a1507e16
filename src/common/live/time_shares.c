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

/* --- a job --- */

/* Of the workers but one: what they take for a slot, and which share of their time they wait for other lanes. */
typedef struct usual {
    double slot_s, waits;
} usual;

static usual usual_but(const json_t *workers, size_t but)
{
    double computing = 0, slots = 0, waits = 0, all = 0;
    size_t i;
    json_t *worker;
    json_array_foreach(workers, i, worker)
    {
        const json_t *figures = json_object_get(worker, "figures");
        time_shares its;
        if (i == but)
            continue;
        time_shares_of_worker(figures, NULL, &its);
        slots += time_figure(figures, COUNTER_WORKER_SLOTS);
        computing += its.seconds[SHARE_COMPUTE];
        waits += its.seconds[SHARE_STRAGGLERS];
        all += its.lane_s;
    }
    return (usual){.slot_s = slots > 0 ? computing / slots : 0, .waits = all > 0 ? waits / all : 0};
}

/* What one computes longer than the others, while these wait for it, is no more its computing than theirs. */
static void move_excess(const json_t *workers, size_t which, time_shares *t)
{
    const json_t *figures = json_object_get(json_array_get(workers, which), "figures");
    usual others = usual_but(workers, which);
    double excess = t->seconds[SHARE_COMPUTE] - time_figure(figures, COUNTER_WORKER_SLOTS) * others.slot_s;
    double most = others.waits * t->lane_s, moved = excess < most ? excess : most;
    if (others.slot_s <= 0 || moved <= 0)
        return;
    t->seconds[SHARE_COMPUTE] -= moved;
    t->seconds[SHARE_STRAGGLERS] += moved;
}

void time_shares_of_job(const json_t *live, time_shares *ret)
{
    const json_t *master = json_object_get(json_object_get(live, "master"), "figures");
    const json_t *workers = json_object_get(live, "workers");
    size_t i;
    json_t *worker;
    *ret = (time_shares){.lane_s = 0};
    json_array_foreach(workers, i, worker)
    {
        time_shares one;
        time_shares_of_worker(json_object_get(worker, "figures"), master, &one);
        move_excess(workers, i, &one);
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
