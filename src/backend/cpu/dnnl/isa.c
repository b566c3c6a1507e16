#include "backend/cpu/dnnl/state.h"

#include <oneapi/dnnl/dnnl_debug.h>
#include <string.h>

/* oneDNN declares and names x86's instruction sets alone, and numbers Arm's as some of these. */
#ifdef __aarch64__

static const struct {
    unsigned number;
    const char *name;
} sets[] = {
    {0x01, "asimd"}, {0x03, "sve_128"}, {0x07, "sve_256"}, {0x0f, "sve_384"}, {0x27, "sve_512"},
};

const char *shim_isa(void)
{
    unsigned effective = dnnl_get_effective_cpu_isa();
    for (size_t i = 0; i < COUNT_OF(sets); i++)
        if (sets[i].number == effective)
            return sets[i].name;
    return "aarch64";
}

unsigned shim_x86_isa(void)
{
    return 0;
}

#else

const char *shim_isa(void)
{
    static const char prefix[] = "cpu_isa_";
    const char *name = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

unsigned shim_x86_isa(void)
{
    return dnnl_get_effective_cpu_isa();
}

#endif
