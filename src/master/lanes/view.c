#include "master/lanes/view.h"

bool view_same_worker(const view_lane *a, const view_lane *b)
{
    return a->trainer == b->trainer && a->worker == b->worker;
}

bool view_same_lane(const view_lane *a, const view_lane *b)
{
    return view_same_worker(a, b) && a->lane == b->lane;
}
