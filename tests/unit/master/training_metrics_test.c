/* Metrics of training over an epoch: whatever order reports come in, how often, and however often another master goes
 * on from the journal, their figures are those of all batches, once each; of a part of an epoch there are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/rng.h"
#include "master/accounting/journal.h"
#include "master/accounting/metric_sums.h"
#include "unit/master/support_accounts.h"
#include "unit/master/support_reports.h"

#include <stdlib.h>

enum { CLASSES = 3, EPOCHS = 4, EXAMPLES_MOST = 4 };

static const metric_source source = {.input = METRIC_CLASSES, .classes = CLASSES, .labels = 1};
static const metric_options listed[] = {{.kind = "fbeta", .average = METRIC_MACRO}, {.kind = "entropy"}};
static const metric_options other[] = {{.kind = "fbeta", .average = METRIC_MICRO}};

typedef struct batch {
    float scores[EXAMPLES_MOST * CLASSES];
    int64_t labels[EXAMPLES_MOST];
    metric_batch view;
} batch;

static void make_batch(int64_t step, uint32_t slot, batch *ret)
{
    rng r = rng_make(9, RNG_TEST, (uint64_t)(step * 100 + slot));
    for (size_t i = 0; i < COUNT_OF(ret->scores); i++)
        ret->scores[i] = (float)rng_normal(&r, i);
    for (size_t i = 0; i < COUNT_OF(ret->labels); i++)
        ret->labels[i] = (int64_t)rng_below(&r, 1000 + i, CLASSES);
    ret->view = (metric_batch){
        .examples = steps_slot(&job, step, slot).n, .scores = ret->scores, .labels = ret->labels};
}

static training_metrics *open_list(const metric_options *list, size_t n)
{
    buf recipe = BUF_INIT, left = BUF_INIT;
    training_metrics *m = NULL;
    error err = ERROR_INIT;
    must(training_recipe_make(list, n, &source, &recipe, &left, &err), &err);
    must(training_metrics_open(recipe.data, recipe.size, &m, &err), &err);
    buf_fini(&recipe);
    buf_fini(&left);
    return m;
}

static training_metrics *open_listed(void)
{
    return open_list(listed, COUNT_OF(listed));
}

static slot_report counted(training_metrics *lane, int64_t step, uint32_t slot)
{
    slot_report r = report_of(step, slot);
    batch b;
    buf counts = BUF_INIT;
    error err = ERROR_INIT;
    make_batch(step, slot, &b);
    must(training_metrics_count(lane, &b.view, &counts, &err), &err);
    r.counts = span_copy(counts.data, counts.size);
    buf_fini(&counts);
    return r;
}

/* By one list, over all batches of the epoch. */
static void check_figures(const metric_figures *have, int64_t epoch)
{
    metric_list *m = NULL;
    metric_figures want = {.n = 0};
    error err = ERROR_INIT;
    int64_t per_epoch = steps_per_epoch(&job);
    must(metrics_open(listed, COUNT_OF(listed), &source, &m, &err), &err);
    for (int64_t step = epoch * per_epoch; step < (epoch + 1) * per_epoch; step++)
        for (uint32_t slot = 0; slot < steps_slots(&job, step); slot++) {
            batch b;
            make_batch(step, slot, &b);
            must(metrics_add(m, &b.view, &err), &err);
        }
    metrics_figures(m, &want);
    assert_int_equal(have->n, want.n);
    for (size_t i = 0; i < want.n; i++) {
        assert_string_equal(have->at[i].name, want.at[i].name);
        assert_memory_equal(have->at[i].values, want.at[i].values, sizeof(double));
    }
    metric_figures_fini(&want);
    metrics_close(&m);
}

static void check_epoch(metric_sums *t, int64_t epoch, bool is_whole)
{
    metric_figures f = {.n = 0};
    assert_int_equal(metric_sums_figures(t, epoch, &f), is_whole);
    if (is_whole)
        check_figures(&f, epoch);
    metric_figures_fini(&f);
}

/* --- another master, which knows the journal --- */

static void take(void *user, const journal_record *r)
{
    metric_sums **t = user;
    if (r->kind == JOURNAL_BASE && !*t)
        *t = metric_sums_create(&job, &r->base, open_listed());
    if (r->kind == JOURNAL_REPORT)
        metric_sums_take(*t, &r->report);
    while (metric_sums_advance(*t, false))
        ;
}

static metric_sums *another(metric_sums *t)
{
    accounts b = accounts_make();
    char *path = jobdir_file(b.dir, "journal");
    error err = ERROR_INIT;
    journal *j = NULL;
    metric_sums *next = NULL;
    bool found;
    size_t end;
    journal_place place = {.path = path, .job_id = 7};
    must(journal_open(&place, metric_sums_base(t), &j, &found, &err), &err);
    slot_report r;
    for (size_t at = 0; metric_sums_next_open(t, &at, &r);)
        journal_report(j, &r);
    must(journal_flush(j, &err), &err);
    must(journal_read(path, 7, take, &next, &end, &err), &err);
    journal_close(&j);
    metric_sums_destroy(&t);
    free(path);
    accounts_fini(&b);
    return next;
}

/* --- cases --- */

static const completed_steps nothing;

static void each_batch_counts_once(void **state)
{
    (void)state;
    training_metrics *lane = open_listed();
    metric_sums *t = metric_sums_create(&job, &nothing, open_listed());
    rng r = rng_make(1, RNG_TEST, 0);
    int64_t end = EPOCHS * steps_per_epoch(&job);
    uint64_t draws = 0;
    while (metric_sums_completed(t)->step < end) {
        int64_t step = metric_sums_completed(t)->step + (int64_t)rng_below(&r, draws++, 3);
        slot_report one = counted(lane, step, (uint32_t)rng_below(&r, draws++, steps_slots(&job, step)));
        metric_sums_take(t, &one); /* most come again and again */
        slot_report_fini(&one);
        while (metric_sums_advance(t, false))
            ;
        if (rng_below(&r, draws++, 8) == 0)
            t = another(t);
    }
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++)
        check_epoch(t, epoch, true);
    check_epoch(t, EPOCHS, false);
    check_epoch(t, 1, true); /* to look harms nothing */
    metric_sums_destroy(&t);
    training_metrics_close(&lane);
}

enum { COUNTS_NOTHING, BY_ANOTHER_LIST, NEVER_COMES, DAMAGED, WAYS };

static void give(metric_sums *t, training_metrics *lane, training_metrics *lane_of_other, int64_t step, uint32_t slot,
                 int way)
{
    slot_report one = counted(way == BY_ANOTHER_LIST ? lane_of_other : lane, step, slot);
    if (way == COUNTS_NOTHING)
        slot_report_fini(&one);
    if (way == DAMAGED)
        one.counts->bytes--;
    if (way != NEVER_COMES)
        assert_true(metric_sums_take(t, &one));
    slot_report_fini(&one);
}

/* One slot of the second epoch is not counted: its figures would be of the others. The next epoch has its own. */
static void a_part_of_an_epoch_has_none(void **state)
{
    (void)state;
    training_metrics *lane = open_listed(), *lane_of_other = open_list(other, COUNT_OF(other));
    int64_t per_epoch = steps_per_epoch(&job);
    for (int way = 0; way < WAYS; way++) {
        metric_sums *t = metric_sums_create(&job, &nothing, open_listed());
        for (int64_t step = 0; step < 3 * per_epoch; step++) {
            for (uint32_t slot = 0; slot < steps_slots(&job, step); slot++)
                give(t, lane, lane_of_other, step, slot, step == per_epoch && slot == 1 ? way : WAYS);
            assert_true(metric_sums_advance(t, true));
        }
        for (int64_t epoch = 0; epoch < 3; epoch++)
            check_epoch(t, epoch, epoch != 1);
        t = another(t);
        for (int64_t epoch = 0; epoch < 3; epoch++)
            check_epoch(t, epoch, epoch != 1);
        metric_sums_destroy(&t);
    }
    training_metrics_close(&lane);
    training_metrics_close(&lane_of_other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_batch_counts_once),
        cmocka_unit_test(a_part_of_an_epoch_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
