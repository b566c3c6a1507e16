#include "onnx/nesting.h"

#include "common/base/alloc.h"
#include "onnx/model.h"

#include <stdbool.h>
#include <stdint.h>

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

typedef struct reader {
    const unsigned char *at, *end;
} reader;

static bool varint(reader *r, uint64_t *ret)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        unsigned char byte = *r->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return false;
}

/* One field: its number, and its bytes if it has a length. */
static bool next(reader *r, uint64_t *ret_field, reader *ret_inside)
{
    uint64_t tag, size = 0;
    if (!varint(r, &tag))
        return false;
    *ret_field = tag >> 3;
    *ret_inside = (reader){.at = NULL};
    switch (tag & 7) {
    case 0:
        return varint(r, &size);
    case 1:
        size = 8;
        break;
    case 5:
        size = 4;
        break;
    case 2:
        if (!varint(r, &size) || size > (uint64_t)(r->end - r->at))
            return false;
        *ret_inside = (reader){r->at, r->at + size};
        break;
    default:
        return false;
    }
    if (size > (uint64_t)(r->end - r->at))
        return false;
    r->at += size;
    return true;
}

static int measure(reader r, kind in, int depth)
{
    int deepest = depth;
    uint64_t field;
    reader inside;
    while (deepest <= ONNX_NESTING && next(&r, &field, &inside)) {
        for (size_t i = 0; inside.at && i < COUNT_OF(paths); i++) {
            if (paths[i].in != in || paths[i].field != field)
                continue;
            int found = measure(inside, paths[i].is, depth + (paths[i].is == GRAPH));
            deepest = found > deepest ? found : deepest;
        }
    }
    return deepest;
}

int onnx_nesting(const void *data, size_t bytes)
{
    const unsigned char *begin = data;
    return measure((reader){begin, begin + bytes}, MODEL, 0);
}
