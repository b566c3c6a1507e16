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
    START_SHIFT = 20, /* the top 11 bits of a magnitude: exponent and 3 of the mantissa */
    STARTS = 1 << 11,
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
/* [s]: how many positive limits lie below every magnitude whose top bits are s, or at its lowest */
static uint16_t start_of[STARTS];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void fill_tables(void)
{
    int n = 0;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1)
        limits[POSITIVE + 1 + n++] = limit;
    limits[POSITIVE + 1 + n++] = DBL_MAX;
    BUG_ON(n != POSITIVE);
    for (int i = 0; i < POSITIVE; i++)
        limits[i] = -limits[BUCKETS - 1 - i];
    const double *positive = limits + POSITIVE + 1;
    uint16_t below = 0;
    for (uint32_t s = 0; s < STARTS; s++) {
        uint32_t bits = s << START_SHIFT;
        float lowest;
        memcpy(&lowest, &bits, sizeof lowest);
        while (isfinite(lowest) && positive[below] < (double)lowest)
            below++;
        start_of[s] = below;
    }
}

static size_t bucket_of(float value)
{
    const double *positive = limits + POSITIVE + 1;
    double magnitude = (double)fabsf(value);
    float f = fabsf(value);
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    size_t i = start_of[bits >> START_SHIFT];
    if (value >= 0) {
        while (positive[i] <= magnitude)
            i++;
        return POSITIVE + 1 + i;
    }
    while (positive[i] < magnitude)
        i++;
    return POSITIVE - i;
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

void events_histogram_add(events_histogram *h, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            continue;
        double x = (double)values[i];
        h->min = x < h->min ? x : h->min;
        h->max = x > h->max ? x : h->max;
        h->sum += x;
        h->sum_squares += x * x;
        h->num++;
        h->count[bucket_of(values[i])]++;
    }
}

size_t events_histogram_packed_bytes(void)
{
    return sizeof(events_histogram);
}

void events_histogram_pack(const events_histogram *h, void *ret)
{
    memcpy(ret, h, sizeof *h);
}

static status check(const events_histogram *h, error *err)
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
    status st = check(other, err);
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
