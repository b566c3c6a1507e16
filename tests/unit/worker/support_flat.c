#include "unit/worker/support_flat.h"

#include <stdlib.h>

flat *support_flat(void)
{
    static const tensor_decl tensors[] = {
        {.name = "w", .rank = 1, .dim = {2 * PART_MIN + 100}},
        {.name = "embedding", .rank = 1, .dim = {40}, .kind = TENSOR_FROZEN},
    };
    flat *f = NULL;
    if (flat_create(tensors, 2, &f, NULL) != OK)
        abort();
    return f;
}
