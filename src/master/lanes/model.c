#include "master/lanes/model.h"

#include "common/base/alloc.h"

#include <stdlib.h>

/* [n] Seconds of a slot by lane; 1 each where nothing is known, or nobody asks. False: nothing is. */
static bool slot_seconds(const pace *p, const hedge_lane *lanes, size_t n, double *ret)
{
    view_lane *names = xcalloc(n, sizeof *names);
    for (size_t i = 0; i < n; i++) {
        names[i] = lanes[i].lane;
        ret[i] = 1;
    }
    bool known = p && pace_of(p, names, n, ret);
    free(names);
    return known;
}

model model_make(const pace *p, const hedge_lane *lanes, size_t n_lanes)
{
    model m = {.workers = xcalloc(n_lanes, sizeof *m.workers),
               .slot_s = xcalloc(n_lanes, sizeof *m.slot_s)};
    bool known = slot_seconds(p, lanes, n_lanes, m.slot_s);
    for (size_t i = 0; i < n_lanes; i++) {
        if (i && view_same_worker(&lanes[i].lane, &lanes[i - 1].lane)) {
            m.workers[m.n - 1].n_lanes++;
            continue;
        }
        share_worker *w = &m.workers[m.n++];
        *w = (share_worker){.name = lanes[i].lane, .n_lanes = 1, .slot_s = m.slot_s + i};
        if (known)
            pace_of_worker(p, &w->name, &w->fixed_s, &w->push_s);
    }
    return m;
}

void model_fini(model *m)
{
    free(m->workers);
    free(m->slot_s);
    *m = (model){.n = 0};
}
