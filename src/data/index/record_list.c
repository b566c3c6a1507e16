/* Lists of records (records.h). */
#include "data/index/records.h"

#include "common/base/alloc.h"

#include <stdlib.h>

void record_list_fini(record_list *l)
{
    free(l->at);
    *l = (record_list){.at = NULL};
}

void record_list_add(record_list *l, size_t at, size_t bytes)
{
    GROW(l->at, l->cap, l->n + 1);
    l->at[l->n++] = (record_span){.at = at, .bytes = bytes};
}
