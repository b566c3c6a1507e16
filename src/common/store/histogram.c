#include "common/store/histogram.h"

#include "common/base/alloc.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    POSITIVE = 775, /* limits above zero */
    BUCKETS = 2 * POSITIVE + 1,
    MAGIC = 0x74736968, /* "hist" */
    VERSION = 1,
    OFFSET_BITS = 19,   /* a float's lower bits; sign, exponent and 4 of the mantissa are above */
    OFFSET_MASK = (1 << OFFSET_BITS) - 1,
    SLICES = 1 << (32 - OFFSET_BITS),
    AT_ONCE = 4096,
};

/* Also the packed form, byte for byte. */
struct events_histogram {
    uint32_t magic, version;
    uint32_t n_buckets, zero;
    double min, max, sum, sum_squares;
    uint64_t num;
    uint64_t count[BUCKETS];
};

_Static_assert(sizeof(events_histogram) == 56 + 8 * BUCKETS, "packed form has no holes");

static double limits[BUCKETS];

/*
 * A slice is the floats that share sign, exponent and the top of the mantissa. Offsets count them
 * in ascending order. A slice spans a factor of at most 17/16, less than from limit to limit: it
 * lies in one bucket, or in two of which the upper begins at some offset e. `slices` holds b <<
 * OFFSET_BITS of the one, the lower b << OFFSET_BITS plus 2^OFFSET_BITS - e of the two, so that
 * adding an offset carries into the bucket where the upper one begins.
 */
static uint32_t slices[SLICES];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static double value_at(uint32_t slice, uint32_t offset)
{
    bool negative = slice >= SLICES / 2;
    uint32_t bits = slice << OFFSET_BITS | (negative ? OFFSET_MASK - offset : offset);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void fill_limits(void)
{
    int n = 0;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1)
        limits[POSITIVE + 1 + n++] = limit;
    limits[POSITIVE + 1 + n++] = DBL_MAX;
    BUG_ON(n != POSITIVE);
    for (int i = 0; i < POSITIVE; i++)
        limits[i] = -limits[BUCKETS - 1 - i];
}

/* `bucket` is that of a value not above the slice; returns the bucket of its highest value. */
static uint32_t fill_slice(uint32_t slice, uint32_t bucket)
{
    while (limits[bucket] <= value_at(slice, 0))
        bucket++;
    slices[slice] = bucket << OFFSET_BITS;
    if (value_at(slice, OFFSET_MASK) < limits[bucket])
        return bucket;
    uint32_t below = 0, above = OFFSET_MASK;
    while (above - below > 1) {
        uint32_t middle = (below + above) / 2;
        *(value_at(slice, middle) < limits[bucket] ? &below : &above) = middle;
    }
    slices[slice] += (1u << OFFSET_BITS) - above;
    BUG_ON(value_at(slice, OFFSET_MASK) >= limits[bucket + 1]);
    return bucket + 1;
}

/* From the lowest value to the highest; infinities and what is no number have no bucket. */
static void fill_tables(void)
{
    fill_limits();
    uint32_t bucket = 0;
    for (uint32_t slice = SLICES; slice-- > SLICES / 2;)
        if (isfinite(value_at(slice, 0)))
            bucket = fill_slice(slice, bucket);
    for (uint32_t slice = 0; slice < SLICES / 2; slice++)
        if (isfinite(value_at(slice, 0)))
            bucket = fill_slice(slice, bucket);
}

static size_t bucket_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t offset = (bits >> 31 ? ~bits : bits) & OFFSET_MASK;
    return (slices[bits >> OFFSET_BITS] + offset) >> OFFSET_BITS;
}

events_histogram *events_histogram_create(void)
{
    pthread_once(&tables_once, fill_tables);
    events_histogram *h = xmalloc(sizeof *h);
    events_histogram_clear(h);
    return h;
}

void events_histogram_destroy(events_histogram **h)
{
    free(*h);
    *h = NULL;
}

void events_histogram_clear(events_histogram *h)
{
    memset(h, 0, sizeof *h);
    h->magic = MAGIC;
    h->version = VERSION;
    h->n_buckets = BUCKETS;
    h->min = DBL_MAX;
    h->max = -DBL_MAX;
}

static bool all_finite(const float *values, size_t n)
{
    int32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t magnitude;
        memcpy(&magnitude, &values[i], sizeof magnitude);
        magnitude &= INT32_MAX;
        most = magnitude > most ? magnitude : most;
    }
    return most < 0x7f800000; /* infinity */
}

static size_t keep_finite(const float *values, size_t n, float *ret)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            ret[kept++] = values[i];
    return kept;
}

/* Two arrays take turns at counting, as values alike follow one another: the second increment of a
 * counter would wait for the first. */
static void add_finite(events_histogram *h, const float *values, size_t n, uint64_t *odd)
{
    double min = h->min, max = h->max, sum = h->sum, sum_squares = h->sum_squares;
    uint64_t *even = h->count;
    for (size_t i = 0; i < n; i++) {
        double x = (double)values[i];
        min = x < min ? x : min;
        max = x > max ? x : max;
        sum += x;
        sum_squares += x * x;
        (i % 2 ? odd : even)[bucket_of(values[i])]++;
    }
    h->min = min;
    h->max = max;
    h->sum = sum;
    h->sum_squares = sum_squares;
    h->num += n;
}

void events_histogram_add(events_histogram *h, const float *values, size_t n)
{
    float finite[AT_ONCE];
    uint64_t odd[BUCKETS] = {0};
    for (size_t at = 0; at < n; at += AT_ONCE) {
        size_t some = n - at < AT_ONCE ? n - at : AT_ONCE;
        if (all_finite(values + at, some))
            add_finite(h, values + at, some, odd);
        else
            add_finite(h, finite, keep_finite(values + at, some, finite), odd);
    }
    for (size_t i = 0; i < BUCKETS; i++)
        h->count[i] += odd[i];
}

size_t events_histogram_packed_bytes(void)
{
    return sizeof(events_histogram);
}

void events_histogram_pack(const events_histogram *h, void *ret)
{
    memcpy(ret, h, sizeof *h);
}

static status histogram_check(const events_histogram *h, error *err)
{
    if (h->magic != MAGIC || h->version != VERSION || h->n_buckets != BUCKETS || h->zero)
        return FAIL(err, E_DATA, "not a packed histogram of version %d with %d buckets", VERSION,
                    BUCKETS);
    uint64_t total = 0;
    for (int i = 0; i < BUCKETS; i++)
        if (__builtin_add_overflow(total, h->count[i], &total))
            return FAIL(err, E_DATA, "a packed histogram whose counts overflow");
    if (total != h->num || total > (uint64_t)1 << 53)
        return FAIL(err, E_DATA, "a packed histogram of %llu values whose buckets hold %llu",
                    (unsigned long long)h->num, (unsigned long long)total);
    if (!isfinite(h->sum) || !isfinite(h->sum_squares) || !isfinite(h->min) || !isfinite(h->max) ||
        (h->num && h->min > h->max))
        return FAIL(err, E_DATA, "a packed histogram without a finite minimum, maximum and sum");
    return OK;
}

status events_histogram_merge(events_histogram *h, const void *packed, size_t bytes, error *err)
{
    if (bytes != sizeof *h)
        return FAIL(err, E_DATA, "a packed histogram of %zu bytes, it must have %zu", bytes,
                    sizeof *h);
    events_histogram *other = xmalloc(sizeof *other);
    memcpy(other, packed, sizeof *other);
    status st = histogram_check(other, err);
    if (st == OK && other->num) {
        h->min = other->min < h->min ? other->min : h->min;
        h->max = other->max > h->max ? other->max : h->max;
        h->sum += other->sum;
        h->sum_squares += other->sum_squares;
        h->num += other->num;
        for (int i = 0; i < BUCKETS; i++)
            h->count[i] += other->count[i];
    }
    free(other);
    return st;
}

void histogram_summarise(const events_histogram *h, histogram_summary *ret)
{
    *ret = (histogram_summary){.min = h->num ? h->min : 0,
                               .max = h->num ? h->max : 0,
                               .num = (double)h->num,
                               .sum = h->sum,
                               .sum_squares = h->sum_squares,
                               .limit = xmalloc(BUCKETS * sizeof(double)),
                               .count = xmalloc(BUCKETS * sizeof(double))};
    for (size_t i = 0; i < BUCKETS; i++) {
        bool joins = i && !h->count[i] && !h->count[i - 1];
        size_t at = joins ? ret->n_buckets - 1 : ret->n_buckets++;
        ret->limit[at] = limits[i];
        ret->count[at] = (double)h->count[i];
    }
}

void histogram_summary_fini(histogram_summary *s)
{
    free(s->limit);
    free(s->count);
}
