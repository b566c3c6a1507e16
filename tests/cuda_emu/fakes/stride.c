#include "cuda_emu/fakes/stride.h"

#include "cuda_emu/place.h"

#include <stddef.h>

static _Thread_local const char *of_node;

void fake_stride_of(const char *node)
{
    of_node = node;
}

int64_t fake_stride(const char *what, const char *file, int line, int64_t x, bool counts)
{
    emu_place p = {what, file, of_node ? of_node : "alone", line, 0};
    return counts && emu_place_spoilt(&p) ? x + 1 : x;
}
