#include "common/config/mode.h"

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
