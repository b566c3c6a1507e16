#include "common/parts/placement.h"

#include "common/base/alloc.h"

#include <stdlib.h>

typedef struct dealt {
    int64_t elements;
    int32_t part;
    bool frozen;
} dealt;

static int by_turn(const void *a, const void *b)
{
    const dealt *x = a, *y = b;
    if (x->frozen != y->frozen)
        return x->frozen ? 1 : -1;
    if (x->elements != y->elements)
        return x->elements > y->elements ? -1 : 1;
    return x->part < y->part ? -1 : 1;
}

static int32_t least_loaded(const int64_t *load, int32_t n_servers)
{
    int32_t best = 0;
    for (int32_t s = 1; s < n_servers; s++)
        if (load[s] < load[best])
            best = s;
    return best;
}

void placement_deal(const flat *f, int32_t n_servers, int32_t *ret_server)
{
    BUG_ON(n_servers < 1);
    dealt *turns = xcalloc((size_t)f->n_parts, sizeof *turns);
    int64_t *load = xcalloc((size_t)n_servers, sizeof *load);
    for (int32_t p = 0; p < f->n_parts; p++)
        turns[p] = (dealt){flat_part_elements(f, p), p, f->parts[p].frozen};
    qsort(turns, (size_t)f->n_parts, sizeof *turns, by_turn);
    for (int32_t i = 0; i < f->n_parts; i++) {
        int32_t server = least_loaded(load, n_servers);
        load[server] += turns[i].elements;
        ret_server[turns[i].part] = server;
    }
    free(load);
    free(turns);
}
