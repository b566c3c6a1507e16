#include "master/era.h"

enum { ERA_STARTS = 0xffff, ERA_TURNS = 0xffff };   /* halves of the 32 bits of an era */

void era_open(era *e, uint64_t job_id)
{
    e->identity.job_id = job_id;
    e->identity.era = (uint32_t)(e->starts + 1) << 16;
}

status era_turn(era *e, error *err)
{
    if (e->starts + 1 > ERA_STARTS || e->turns > ERA_TURNS)
        return FAIL(err, E_FAIL, "after %lld starts and %u turns there is no era left",
                    (long long)e->starts + 1, e->turns);
    e->identity.era = (uint32_t)(e->starts + 1) << 16 | e->turns++;
    return OK;
}

wire_head era_head(const era *e, wire_type type)
{
    wire_head h = e->identity;
    h.type = type;
    return h;
}
