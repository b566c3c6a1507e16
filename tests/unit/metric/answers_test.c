/*
 * Metrics of answers: best spans are those of all pairs tried, positions and texts are counted as AllenNLP does it,
 * of a question's windows the best one counts, and any split over batches and processes gives the same bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "metric/best_span.h"
#include "metric/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POSITIONS = 7, EXAMPLES = 40, PARTS = 3, KINDS = 5, ENDS = 2 };

static const metric_options kinds[KINDS] = {
    {.kind = "start_acc"}, {.kind = "end_acc"}, {.kind = "span_acc"}, {.kind = "per_instance"}, {.kind = "squad"}};
static const metric_source source = {
    .input = METRIC_CLASSES, .classes = POSITIONS, .labels = ENDS, .is_span = true, .has_answers = true};

/* Few different scores, so that many sums are equal; some that none can be chosen of. */
typedef struct scene {
    float scores[EXAMPLES][POSITIONS][ENDS];
    int64_t labels[EXAMPLES][ENDS];
    metric_answer answers[EXAMPLES];
} scene;

typedef struct draws {
    rng from;
    uint64_t n;
} draws;

static int64_t draw(draws *d, uint64_t bound)
{
    return (int64_t)rng_below(&d->from, d->n++, bound);
}

static void fill(scene *s)
{
    draws r = {.from = rng_make(1, RNG_AUGMENT, 0)};
    for (int e = 0; e < EXAMPLES; e++) {
        for (int i = 0; i < POSITIONS * ENDS; i++)
            s->scores[e][i / ENDS][i % ENDS] = i / ENDS == e % POSITIONS ? -3.4028235e38f : (float)draw(&r, 4) - 1.5f;
        for (int i = 0; i < ENDS; i++)
            s->labels[e][i] = draw(&r, POSITIONS);
        s->answers[e] = (metric_answer){.question = e / 3,
                                        .window = e % 3 * 100,
                                        .score = (float)draw(&r, 3),
                                        .has_gold = draw(&r, 4) > 0,
                                        .exact = draw(&r, 2) > 0,
                                        .f1 = (double)draw(&r, 1000) / 999.0};
    }
}

static best_span try_all(float (*scores)[ENDS])
{
    best_span best = {0, 0, -INFINITY};
    for (int i = 0; i < POSITIONS; i++)
        for (int k = i; k < POSITIONS; k++)
            if (scores[i][0] + scores[k][1] > best.score)
                best = (best_span){i, k, scores[i][0] + scores[k][1]};
    return best;
}

static void test_best_spans(void **state)
{
    (void)state;
    scene s;
    fill(&s);
    for (int e = 0; e < EXAMPLES; e++) {
        best_span a = try_all(s.scores[e]), b = best_span_of(&s.scores[e][0][0], &s.scores[e][0][1], POSITIONS, ENDS);
        assert_int_equal(a.first, b.first);
        assert_int_equal(a.last, b.last);
        assert_true(a.score == b.score);
    }
}

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s", err->text);
}

static void add(metric_list *m, scene *s, int first, int n)
{
    error err = ERROR_INIT;
    metric_batch b = {.examples = n,
                      .scores = &s->scores[first][0][0],
                      .class_stride = ENDS,
                      .labels = s->labels[first],
                      .answers = &s->answers[first]};
    must(metrics_add(m, &b, &err), &err);
}

static metric_list *open_list(void)
{
    metric_list *m = NULL;
    error err = ERROR_INIT;
    must(metrics_open(kinds, KINDS, &source, &m, &err), &err);
    assert_true(metrics_want_answers(m));
    return m;
}

static void expect(const metric_figures *f, const char *name, double value)
{
    const metric_figure *found = metric_figures_find(f, name);
    if (!found || fabs(found->values[0] - value) > 1e-15)
        fail_msg("%s is %.17g, and not %.17g", name, found ? found->values[0] : NAN, value);
}

static int first_best(float (*scores)[ENDS], int which)
{
    int best = 0;
    for (int i = 1; i < POSITIONS; i++)
        best = scores[i][which] > scores[best][which] ? i : best;
    return best;
}

static void expect_positions(const metric_figures *f, scene *s)
{
    double right[3] = {0, 0, 0};
    for (int e = 0; e < EXAMPLES; e++) {
        best_span best = try_all(s->scores[e]);
        for (int which = 0; which < ENDS; which++)
            right[which] += first_best(s->scores[e], which) == s->labels[e][which];
        right[2] += best.first == s->labels[e][0] && best.last == s->labels[e][1];
    }
    expect(f, "start_acc", right[0] / EXAMPLES);
    expect(f, "end_acc", right[1] / EXAMPLES);
    expect(f, "span_acc", right[2] / EXAMPLES);
}

static void expect_texts(const metric_figures *f, const scene *s)
{
    double em = 0, f1 = 0, n = 0, joined_em = 0, joined_f1 = 0, questions = 0;
    for (int e = 0; e < EXAMPLES; e++)
        if (s->answers[e].has_gold) {
            em += s->answers[e].exact;
            f1 += s->answers[e].f1;
            n++;
        }
    for (int e = 0; e < EXAMPLES; e += 3, questions++) {
        int best = e;
        for (int k = e; k < e + 3 && k < EXAMPLES; k++)
            best = s->answers[k].score > s->answers[best].score ? k : best;
        joined_em += s->answers[best].exact;
        joined_f1 += s->answers[best].f1;
    }
    expect(f, "per_instance_em", em / n);
    expect(f, "per_instance_f1", f1 / n);
    expect(f, "squad_em", joined_em / questions);
    expect(f, "squad_f1", joined_f1 / questions);
}

/* Windows of one question lie in several of the parts. */
static void test_any_split_gives_the_same(void **state)
{
    (void)state;
    scene s;
    fill(&s);
    metric_list *whole = open_list(), *parts[PARTS], *all = open_list();
    metric_figures f = {.at = NULL};
    buf bytes = BUF_INIT, expected = BUF_INIT;
    error err = ERROR_INIT;
    add(whole, &s, 0, EXAMPLES);
    metrics_figures(whole, &f);
    expect_positions(&f, &s);
    expect_texts(&f, &s);
    metrics_save(whole, &expected);
    for (int i = 0; i < PARTS; i++) {
        parts[i] = open_list();
        for (int e = PARTS - 1 - i; e < EXAMPLES; e += PARTS)
            add(parts[i], &s, e, 1);
        metric_list *taken = open_list();
        buf_clear(&bytes);
        metrics_save(parts[i], &bytes);
        must(metrics_load(taken, bytes.data, bytes.size, &err), &err);
        must(metrics_merge(all, taken, &err), &err);
        metrics_close(&taken);
        metrics_close(&parts[i]);
    }
    buf_clear(&bytes);
    metrics_save(all, &bytes);
    assert_int_equal(bytes.size, expected.size);
    assert_memory_equal(bytes.data, expected.data, bytes.size);
    metrics_reset(whole);
    metric_figures_fini(&f);
    metrics_figures(whole, &f);
    assert_true(isnan(metric_figures_find(&f, "squad_em")->values[0]));
    metric_figures_fini(&f);
    buf_fini(&bytes);
    buf_fini(&expected);
    metrics_close(&whole);
    metrics_close(&all);
}

static void refuse(size_t kind, metric_source s, const char *part)
{
    metric_list *m = NULL;
    error err = ERROR_INIT;
    assert_int_equal(metrics_open(&kinds[kind], 1, &s, &m, &err), E_CONFIG);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

static void test_what_they_are_not_of(void **state)
{
    (void)state;
    metric_source s = source;
    s.has_answers = false;
    refuse(4, s, "metric 'squad': squad takes data with questions and right answers");
    s.is_span = false;
    refuse(0, s, "start_acc takes the first and the last position of an answer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_spans),
        cmocka_unit_test(test_any_split_gives_the_same),
        cmocka_unit_test(test_what_they_are_not_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
