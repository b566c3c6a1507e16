#include "unit/master/support_reports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/rng.h"

const steps job = {.examples = 37, .batch_size = 4, .per_step = 4};

slot_report report_of(int64_t step, uint32_t slot)
{
    rng r = rng_make(3, RNG_TEST, (uint64_t)(step * 100 + slot));
    slot_report s = {.step = step, .slot = slot, .examples = steps_slot(&job, step, slot).n};
    metric_add(&s.metrics, "loss", (double)rng_normal(&r, 0) * (double)(1u << rng_below(&r, 1, 30)),
               (double)s.examples);
    metric_add(&s.metrics, "accuracy", (double)rng_below(&r, 2, 5), (double)s.examples);
    return s;
}

void check_metrics(const metric_set *a, const metric_set *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_string_equal(a->at[i].name, b->at[i].name);
        assert_memory_equal(&a->at[i].sum, &b->at[i].sum, sizeof(double));
        assert_memory_equal(&a->at[i].count, &b->at[i].count, sizeof(double));
    }
}
