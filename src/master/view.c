#include "master/view.h"

void view_deal(const view_lane *lanes, size_t n_lanes, uint32_t n_slots, view_lane *ret)
{
    size_t busy = n_lanes < n_slots ? n_lanes : n_slots;
    for (uint32_t k = 0; k < n_slots; k++)
        ret[k] = lanes[(uint64_t)k * busy / n_slots];
}
