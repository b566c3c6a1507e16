/* 16-bit floating numbers as float32, exactly: IEEE's binary16, and bfloat16. Pure. */
#ifndef TEQUIO_COMMON_BASE_HALF_H
#define TEQUIO_COMMON_BASE_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float half_to_float(uint16_t bits, bool is_bfloat)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, word;
    float value;
    if (is_bfloat) {
        word = (uint32_t)bits << 16;
    } else {
        uint32_t exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
        if (exponent == 0) {
            value = (float)mantissa * 0x1p-24f;
            return sign ? -value : value;
        }
        word = sign | (exponent == 31 ? 0xff : exponent + 112) << 23 | mantissa << 13;
    }
    memcpy(&value, &word, sizeof value);
    return value;
}

#endif
