/* Element types of tensors, with the names safetensors uses. Pure functions. */
#ifndef TEQUIO_COMMON_BASE_DTYPE_H
#define TEQUIO_COMMON_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

/* X(code, bytes, safetensors name, name for people) */
#define DTYPE_MAP(X)                                                                               \
    X(DT_F32, 4, "F32", "float32")                                                                 \
    X(DT_F16, 2, "F16", "float16")                                                                 \
    X(DT_BF16, 2, "BF16", "bfloat16")                                                              \
    X(DT_F64, 8, "F64", "float64")                                                                 \
    X(DT_I64, 8, "I64", "int64")                                                                   \
    X(DT_I32, 4, "I32", "int32")                                                                   \
    X(DT_U8, 1, "U8", "uint8")                                                                     \
    X(DT_BOOL, 1, "BOOL", "bool")

typedef enum dtype {
#define X(code, bytes, safetensors, name) code,
    DTYPE_MAP(X)
#undef X
        DTYPE_COUNT
} dtype;

static inline size_t dtype_bytes(dtype t)
{
    switch (t) {
#define X(code, bytes, safetensors, name)                                                          \
    case code:                                                                                     \
        return bytes;
        DTYPE_MAP(X)
#undef X
    default:
        return 0;
    }
}

static inline bool dtype_is_half(dtype t)
{
    return t == DT_F16 || t == DT_BF16;
}

static inline const char *dtype_name(dtype t)
{
    switch (t) {
#define X(code, bytes, safetensors, name)                                                          \
    case code:                                                                                     \
        return name;
        DTYPE_MAP(X)
#undef X
    default:
        return "unknown";
    }
}

#endif
