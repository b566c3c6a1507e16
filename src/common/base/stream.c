#include "common/base/stream.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__

#include <emmintrin.h>

void stream_copy(float *restrict to, const float *restrict from, size_t n)
{
    enum { WIDTH = 4 };
    size_t i = 0;
    for (; i < n && (uintptr_t)(to + i) % sizeof(__m128) != 0; i++)
        to[i] = from[i];
    for (; i + WIDTH <= n; i += WIDTH)
        _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
    for (; i < n; i++)
        to[i] = from[i];
    _mm_sfence();
}

#else

void stream_copy(float *restrict to, const float *restrict from, size_t n)
{
    memcpy(to, from, n * sizeof *to);
}

#endif
