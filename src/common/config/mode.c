#include "common/config/mode.h"

#include "common/parts/tree.h"

#include <string.h>

mode mode_settings(const config *c)
{
    const char *name = config_str(c, "distributed.mode");
    bool bounded = strcmp(name, "ssp") == 0;
    return (mode){
        .unordered = strcmp(name, "sync") != 0,
        .staleness = bounded ? config_int(c, "distributed.staleness") : -1,
    };
}

int64_t mode_batches_per_step(const config *c, int64_t n_lanes)
{
    if (config_has(c, "trainer.batches_per_step"))
        return config_int(c, "trainer.batches_per_step");
    return n_lanes * config_int(c, "trainer.num_gradient_accumulation_steps");
}

uint8_t mode_sum_level(const config *c, int64_t n_lanes)
{
    int64_t k = mode_batches_per_step(c, n_lanes);
    return mode_settings(c).unordered ? 0 : tree_root_level((uint32_t)((k + n_lanes - 1) / n_lanes));
}
