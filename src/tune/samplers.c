#include "tune/sampler.h"

#include "common/base/alloc.h"

#include <string.h>

static const sampler *const samplers[] = {&sampler_gp, &sampler_tpe, &sampler_random, &sampler_grid};

const sampler *sampler_named(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(samplers); i++)
        if (strcmp(samplers[i]->name, name) == 0)
            return samplers[i];
    return NULL;
}
