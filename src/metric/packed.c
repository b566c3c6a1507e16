/* See packed.h. */
#include "metric/packed.h"

#include <math.h>
#include <string.h>

enum { BITS = 7, MORE = 0x80, LONGEST = 10 };

void packed_put(buf *to, int64_t x)
{
    uint64_t rest = (uint64_t)x << 1 ^ (x < 0 ? UINT64_MAX : 0);
    char bytes[LONGEST];
    size_t n = 0;
    for (; rest >= MORE; rest >>= BITS)
        bytes[n++] = (char)(rest | MORE);
    bytes[n++] = (char)rest;
    buf_add(to, bytes, n);
}

status packed_get(const char **from, size_t *bytes, int64_t *ret, error *err)
{
    uint64_t x = 0;
    for (size_t i = 0; i < LONGEST && i < *bytes; i++) {
        unsigned char byte = (unsigned char)(*from)[i];
        x |= (uint64_t)(byte & (MORE - 1)) << (BITS * i);
        if (byte & MORE)
            continue;
        *ret = (int64_t)(x >> 1 ^ (x & 1 ? UINT64_MAX : 0));
        *from += i + 1;
        *bytes -= i + 1;
        return OK;
    }
    return FAIL(err, E_DATA, "packed counts end in the middle of a number");
}

/* --- states: of what is not 0 how many before it are, and what it is --- */

static void put_sum(buf *to, const exact_sum *s)
{
    double parts[EXACT_PARTS];
    size_t n = exact_sum_parts(s, parts);
    packed_put(to, (int64_t)n);
    buf_add(to, parts, n * sizeof *parts);
}

void packed_put_state(buf *to, const metric_state *s)
{
    int64_t some = 0;
    BUG_ON(s->n_pairs || s->n_rows || s->n_values);
    for (size_t i = 0; i < s->n_counts; i++)
        some += s->counts[i] != 0;
    packed_put(to, some);
    for (size_t i = 0, next = 0; i < s->n_counts; i++)
        if (s->counts[i]) {
            packed_put(to, (int64_t)(i - next));
            packed_put(to, s->counts[i]);
            next = i + 1;
        }
    some = 0;
    for (size_t i = 0; i < s->n_sums; i++)
        some += exact_sum_value(&s->sums[i]) != 0.0;
    packed_put(to, some);
    for (size_t i = 0, next = 0; i < s->n_sums; i++)
        if (exact_sum_value(&s->sums[i]) != 0.0) {
            packed_put(to, (int64_t)(i - next));
            put_sum(to, &s->sums[i]);
            next = i + 1;
        }
}

/* Moves *at over the zeros to what follows them, one of n. */
static status get_place(const char **from, size_t *bytes, size_t n, size_t *at, error *err)
{
    int64_t zeros = 0;
    TRY(packed_get(from, bytes, &zeros, err));
    if (zeros < 0 || *at >= n || (uint64_t)zeros >= n - *at)
        return FAIL(err, E_DATA, "packed counts are of another metric: there are %zu of a kind", n);
    *at += (size_t)zeros;
    return OK;
}

static status add_sum(exact_sum *into, const char **from, size_t *bytes, error *err)
{
    int64_t n = 0;
    TRY(packed_get(from, bytes, &n, err));
    if (n < 0 || n > EXACT_PARTS || (size_t)n * sizeof(double) > *bytes)
        return FAIL(err, E_DATA, "a packed sum of %lld parts in %zu bytes", (long long)n, *bytes);
    for (int64_t i = 0; i < n; i++) {
        double part;
        memcpy(&part, *from, sizeof part);
        *from += sizeof part;
        *bytes -= sizeof part;
        if (!isfinite(part))
            return FAIL(err, E_DATA, "a packed sum is not finite");
        exact_sum_add(into, part);
    }
    return OK;
}

status packed_add_state(metric_state *into, const char **from, size_t *bytes, error *err)
{
    int64_t some = 0, count = 0;
    TRY(packed_get(from, bytes, &some, err));
    for (size_t at = 0; some > 0; some--, at++) {
        TRY(get_place(from, bytes, into->n_counts, &at, err));
        TRY(packed_get(from, bytes, &count, err));
        into->counts[at] = (int64_t)((uint64_t)into->counts[at] + (uint64_t)count);
    }
    TRY(packed_get(from, bytes, &some, err));
    for (size_t at = 0; some > 0; some--, at++) {
        TRY(get_place(from, bytes, into->n_sums, &at, err));
        TRY(add_sum(&into->sums[at], from, bytes, err));
    }
    return OK;
}
