#include "onnx/fields.h"

#include <stddef.h>

static bool varint(fields *f, uint64_t *ret)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && f->at < f->end; shift += 7) {
        unsigned char byte = *f->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return false;
}

static bool size_of(fields *f, uint64_t wire_type, uint64_t *ret)
{
    uint64_t ignored;
    *ret = 0;
    switch (wire_type) {
    case 0:
        return varint(f, &ignored);
    case 1:
        *ret = 8;
        break;
    case 5:
        *ret = 4;
        break;
    case 2:
        if (!varint(f, ret))
            return false;
        break;
    default:
        return false;
    }
    return *ret <= (uint64_t)(f->end - f->at);
}

bool fields_next(fields *f, field *ret)
{
    fields rest = *f;
    uint64_t tag, size;
    if (!varint(&rest, &tag) || !size_of(&rest, tag & 7, &size))
        return false;
    *ret = (field){.number = tag >> 3, .begin = f->at, .end = rest.at + size};
    if ((tag & 7) == 2)
        ret->inside = (fields){rest.at, ret->end};
    f->at = ret->end;
    return true;
}
