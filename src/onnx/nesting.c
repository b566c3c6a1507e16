#include "onnx/nesting.h"

#include "common/base/alloc.h"
#include "onnx/fields.h"

/* The messages on the way from a model to a subgraph. */
typedef enum kind { MODEL, GRAPH, FUNCTION, NODE, ATTRIBUTE } kind;

static const struct {
    kind in;
    uint64_t field;
    kind is;
} paths[] = {
    {MODEL, 7, GRAPH},         {MODEL, 25, FUNCTION}, {GRAPH, 1, NODE},      {FUNCTION, 7, NODE},
    {FUNCTION, 11, ATTRIBUTE}, {NODE, 5, ATTRIBUTE},  {ATTRIBUTE, 6, GRAPH}, {ATTRIBUTE, 11, GRAPH},
};

static int measure(fields f, kind in, int depth)
{
    int deepest = depth;
    field one;
    while (deepest <= ONNX_NESTING && fields_next(&f, &one)) {
        for (size_t i = 0; one.inside.at && i < COUNT_OF(paths); i++) {
            if (paths[i].in != in || paths[i].field != one.number)
                continue;
            int found = measure(one.inside, paths[i].is, depth + (paths[i].is == GRAPH));
            deepest = found > deepest ? found : deepest;
        }
    }
    return deepest;
}

int onnx_nesting(const void *data, size_t bytes)
{
    const unsigned char *begin = data;
    return measure((fields){begin, begin + bytes}, MODEL, 0);
}
