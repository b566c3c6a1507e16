#include "master/lanes/view.h"

#include "common/base/alloc.h"

#include <stdlib.h>

bool view_same_worker(const view_lane *a, const view_lane *b)
{
    return a->trainer == b->trainer && a->worker == b->worker;
}

bool view_same_lane(const view_lane *a, const view_lane *b)
{
    return view_same_worker(a, b) && a->lane == b->lane;
}

static double slot_seconds(const double *slot_s, size_t lane)
{
    return slot_s ? slot_s[lane] : 1;
}

/* How many slots each lane gets. With slots that could be divided every lane would take the same
 * time; nobody takes less than the whole slots of that share, and the rest goes, one by one, to who
 * would be ready first with one more. */
static void count_slots(const double *slot_s, size_t n_lanes, uint32_t n_slots, uint32_t *ret)
{
    double speed = 0;
    uint32_t dealt = 0;
    for (size_t i = 0; i < n_lanes; i++)
        speed += 1 / slot_seconds(slot_s, i);
    for (size_t i = 0; i < n_lanes; i++) {
        ret[i] = (uint32_t)((double)n_slots / (slot_seconds(slot_s, i) * speed));
        if (ret[i] > n_slots - dealt)
            ret[i] = n_slots - dealt;
        dealt += ret[i];
    }
    for (; dealt < n_slots; dealt++) {
        size_t first = 0;
        for (size_t i = 1; i < n_lanes; i++)
            if ((ret[i] + 1) * slot_seconds(slot_s, i) <
                (ret[first] + 1) * slot_seconds(slot_s, first))
                first = i;
        ret[first]++;
    }
}

void view_deal(const view_lane *lanes, const double *slot_s, size_t n_lanes, uint32_t n_slots,
               view_lane *ret)
{
    uint32_t *counts = xcalloc(n_lanes, sizeof *counts), k = 0;
    count_slots(slot_s, n_lanes, n_slots, counts);
    for (size_t i = 0; i < n_lanes; i++)
        for (uint32_t n = 0; n < counts[i]; n++)
            ret[k++] = lanes[i];
    free(counts);
}

double view_seconds(const view_lane *lanes, const double *slot_s, size_t n_lanes,
                    const view_lane *owners, uint32_t n_slots)
{
    double longest = 0;
    for (size_t i = 0; i < n_lanes; i++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < n_slots; k++)
            n += view_same_lane(&owners[k], &lanes[i]);
        double seconds = n * slot_seconds(slot_s, i);
        longest = seconds > longest ? seconds : longest;
    }
    return longest;
}
