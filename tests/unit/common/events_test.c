#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/rng.h"
#include "common/store/events_graph.h"
#include "common/store/events_hparams.h"
#include "proto/event.pb-c.h"
#include "common/store/histogram.h"
#include "support/folder.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 4096 };

typedef struct seen {
    size_t n;
    event_record records[MOST];
    char tags[MOST][32];
} seen;

static status remember(void *user, const event_record *r, error *err)
{
    (void)err;
    seen *s = user;
    assert_true(s->n < MOST);
    s->records[s->n] = *r;
    snprintf(s->tags[s->n], sizeof s->tags[0], "%s", r->tag ? r->tag : "");
    s->n++;
    return OK;
}

/* The path of the only event file in the test's folder `name`; the caller frees it. */
static char *only_file(const char *name)
{
    char *dir = folder_file("%s", name), **names = NULL;
    size_t n = 0;
    assert_int_equal(fs_list(dir, &names, &n, NULL), OK);
    assert_int_equal(n, 1);
    assert_int_equal(strncmp(names[0], "events.out.tfevents.", 20), 0);
    char *path = xasprintf("%s/%s", dir, names[0]);
    fs_list_free(names, n);
    free(dir);
    return path;
}

static events *open_in(const char *name)
{
    char *dir = folder_file("%s", name);
    events *e = NULL;
    assert_int_equal(events_open(dir, &e, NULL), OK);
    free(dir);
    return e;
}

static void test_scalars_round_trip(void **state)
{
    (void)state;
    events *e = open_in("scalars/below");
    for (int i = 0; i < 3000; i++)
        events_scalar(e, i, i % 2 ? "loss" : "accuracy", 0.5f * (float)i);
    events_close(&e);
    assert_null(e);
    events_close(&e);
    char *path = only_file("scalars/below");
    seen *s = xcalloc(1, sizeof *s);
    assert_int_equal(events_read(path, remember, s, NULL), OK);
    assert_int_equal(s->n, 3001);
    assert_int_equal(s->records[0].kind, 0);
    assert_null(s->records[0].tag);
    for (int i = 0; i < 3000; i++) {
        const event_record *r = &s->records[i + 1];
        assert_int_equal(r->kind, 1);
        assert_int_equal(r->step, i);
        assert_true(r->value == 0.5 * i);
        assert_true(r->wall_time > 1.7e9);
        assert_string_equal(s->tags[i + 1], i % 2 ? "loss" : "accuracy");
    }
    free(s);
    free(path);
}

/* The head of the first record, as every writer of event files makes it: 24 bytes follow. */
static status take_text(void *user, const event_record *r, error *err)
{
    (void)err;
    if (r->kind != EVENT_TEXT)
        return OK;
    assert_string_equal(r->tag, "configuration");
    buf_add(user, r->text, r->bytes);
    return OK;
}

/* And what plugins read beside it is passed over. */
static void test_text_round_trips(void **state)
{
    (void)state;
    buf got = BUF_INIT;
    events *e = open_in("text");
    events_text(e, 0, "configuration", "    {\n      \"a\": 1\n    }\n");
    events_hparams_begin(e, (events_hparam[]){{.name = "lr", .number = 0.5}, {.name = "type", .word = "sgd"}}, 2);
    events_hparams_end(e, EVENTS_SESSION_DONE);
    events_close(&e);
    char *path = only_file("text");
    assert_int_equal(events_read(path, take_text, &got, NULL), OK);
    assert_string_equal(got.data, "    {\n      \"a\": 1\n    }\n");
    buf_fini(&got);
    free(path);
}

/* The data of the second record of a file, behind the one that says the version. */
static const unsigned char *second_record(const buf *file, size_t *ret_bytes)
{
    enum { HEAD = 12, TAIL = 4 };
    const unsigned char *at = (const unsigned char *)file->data;
    at += HEAD + at[0] + TAIL;
    *ret_bytes = at[0] + 256u * at[1];
    return at + HEAD;
}

static void test_a_graph_is_tensorflows(void **state)
{
    (void)state;
    const int64_t rows[] = {-1, 3};
    const events_tensor tensor = {.type = DT_F32, .rank = 2, .dim = rows};
    const char *inputs[] = {"x", "w:1"};
    const events_node nodes[] = {{.name = "x", .op = "Placeholder", .outputs = &tensor, .n_outputs = 1},
                                 {.name = "a/b", .op = "MatMul", .inputs = inputs, .n_inputs = 2}};
    events *e = open_in("graph");
    events_graph(e, nodes, 2);
    events_close(&e);
    char *path = only_file("graph");
    buf file = BUF_INIT;
    size_t bytes;
    assert_int_equal(fs_read(path, 1 << 20, &file, NULL), OK);
    const unsigned char *record = second_record(&file, &bytes);
    Tequio__Tb__Event *event = tequio__tb__event__unpack(NULL, bytes, record);
    assert_non_null(event);
    Tequio__Tb__GraphDef *graph = tequio__tb__graph_def__unpack(NULL, event->graph_def.len, event->graph_def.data);
    assert_non_null(graph);
    assert_int_equal(graph->n_node, 2);
    assert_string_equal(graph->node[1]->op, "MatMul");
    assert_string_equal(graph->node[1]->input[1], "w:1");
    assert_int_equal(graph->node[1]->n_attr, 0);
    assert_int_equal(graph->node[0]->attr[0]->value->type, 1);
    assert_string_equal(graph->node[0]->attr[1]->key, "_output_shapes");
    const Tequio__Tb__TensorShapeProto *shape = graph->node[0]->attr[1]->value->list->shape[0];
    assert_int_equal(shape->dim[0]->size, -1);
    assert_int_equal(shape->dim[1]->size, 3);
    tequio__tb__graph_def__free_unpacked(graph, NULL);
    tequio__tb__event__free_unpacked(event, NULL);
    buf_fini(&file);
    free(path);
}

static void test_the_first_bytes(void **state)
{
    (void)state;
    events *e = open_in("first");
    events_close(&e);
    char *path = only_file("first");
    buf bytes = BUF_INIT;
    assert_int_equal(fs_read(path, 1 << 20, &bytes, NULL), OK);
    static const unsigned char head[] = {24, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22, 0x09};
    assert_int_equal(bytes.size, 12 + 24 + 4);
    assert_memory_equal(bytes.data, head, sizeof head);
    assert_memory_equal(bytes.data + 12 + 9,
                        "\x1a\x0d"
                        "brain.Event:2",
                        15);
    buf_fini(&bytes);
    free(path);
}

static void test_two_files_in_one_second(void **state)
{
    (void)state;
    events *a = open_in("twice"), *b = open_in("twice");
    events_scalar(a, 1, "a", 1);
    events_scalar(b, 1, "b", 1);
    events_close(&a);
    events_close(&b);
    char *dir = folder_file("twice"), **names = NULL;
    size_t n = 0;
    assert_int_equal(fs_list(dir, &names, &n, NULL), OK);
    assert_int_equal(n, 2);
    fs_list_free(names, n);
    free(dir);
}

/* Cut anywhere, the whole records before the cut are read and nothing is wrong. */
static void test_torn_tails(void **state)
{
    (void)state;
    events *e = open_in("torn");
    for (int i = 0; i < 5; i++)
        events_scalar(e, i, "loss", 1);
    events_close(&e);
    char *path = only_file("torn"), *cut = folder_file("cut");
    buf bytes = BUF_INIT;
    assert_int_equal(fs_read(path, 1 << 20, &bytes, NULL), OK);
    seen *s = xcalloc(1, sizeof *s);
    size_t before = 0;
    for (size_t n = 0; n <= bytes.size; n++) {
        assert_int_equal(fs_write_atomic(cut, bytes.data, n, NULL), OK);
        s->n = 0;
        assert_int_equal(events_read(cut, remember, s, NULL), OK);
        assert_true(s->n == before || s->n == before + 1);
        before = s->n;
    }
    assert_int_equal(before, 6);
    free(s);
    buf_fini(&bytes);
    free(cut);
    free(path);
}

static void test_damage_is_seen(void **state)
{
    (void)state;
    events *e = open_in("damaged");
    for (int i = 0; i < 5; i++)
        events_scalar(e, i, "loss", 1);
    events_close(&e);
    char *path = only_file("damaged");
    buf bytes = BUF_INIT;
    assert_int_equal(fs_read(path, 1 << 20, &bytes, NULL), OK);
    seen *s = xcalloc(1, sizeof *s);
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.data[i] = (char)(bytes.data[i] ^ 4);
        assert_int_equal(fs_write_atomic(path, bytes.data, bytes.size, NULL), OK);
        error err = ERROR_INIT;
        s->n = 0;
        assert_int_equal(events_read(path, remember, s, &err), E_DATA);
        assert_non_null(strstr(err.text, "offset"));
        bytes.data[i] = (char)(bytes.data[i] ^ 4);
    }
    error err = ERROR_INIT;
    assert_int_equal(fs_write_atomic(path, "no event file at all", 20, NULL), OK);
    assert_int_equal(events_read(path, remember, s, &err), E_DATA);
    assert_non_null(strstr(err.text, "not an event file?"));
    unlink(path);
    error_clear(&err);
    assert_int_equal(events_read(path, remember, s, &err), E_DATA);
    free(s);
    buf_fini(&bytes);
    free(path);
}

static void test_a_failed_write_leaves_whole_records(void **state)
{
    (void)state;
    events *e = open_in("full");
    char *path = only_file("full");
    events_scalar(e, 1, "loss", 1);
    assert_int_equal(events_flush(e, NULL), OK);
    struct rlimit before, small = {.rlim_cur = 200};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 10; i++)
        events_scalar(e, i, "loss", 1);
    error err = ERROR_INIT;
    assert_int_equal(events_flush(e, &err), E_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_non_null(strstr(err.text, path));
    seen *s = xcalloc(1, sizeof *s);
    assert_int_equal(events_read(path, remember, s, NULL), OK);
    assert_int_equal(s->n, 2);
    assert_int_equal(events_flush(e, NULL), OK);
    s->n = 0;
    assert_int_equal(events_read(path, remember, s, NULL), OK);
    assert_int_equal(s->n, 12);
    events_close(&e);
    free(s);
    free(path);
}

/* --- histograms --- */

/* TensorFlow's limits, made here once more: negative ones mirrored, zero between. */
static size_t make_limits(double *ret)
{
    double positive[1000];
    size_t n = 0;
    for (double v = 1.0e-12; v < 1.0e20; v *= 1.1)
        positive[n++] = v;
    positive[n++] = DBL_MAX;
    for (size_t i = 0; i < n; i++) {
        ret[i] = -positive[n - 1 - i];
        ret[n + 1 + i] = positive[i];
    }
    ret[n] = 0;
    return 2 * n + 1;
}

/* First limit above the value. */
static size_t reference_bucket(const double *limits, double value)
{
    size_t i = 0;
    while (limits[i] <= value)
        i++;
    return i;
}

static void test_buckets_are_tensorflows(void **state)
{
    (void)state;
    double limits[2001];
    size_t n = make_limits(limits);
    float *values = xmalloc(sizeof(float) * 3 * n + sizeof(float) * 2000);
    size_t n_values = 0;
    for (size_t i = 1; i + 1 < n; i++) {
        values[n_values++] = (float)limits[i];
        values[n_values++] = nextafterf((float)limits[i], INFINITY);
        values[n_values++] = nextafterf((float)limits[i], -INFINITY);
    }
    rng r = rng_make(1, RNG_TEST, 9);
    const float specials[] = {0.0f, -0.0f, FLT_MIN, -FLT_MIN, 1e-45f, -1e-45f, FLT_MAX, -FLT_MAX};
    for (size_t i = 0; i < COUNT_OF(specials); i++)
        values[n_values++] = specials[i];
    for (uint64_t i = 0; i < 1500; i++)
        values[n_values++] = rng_normal(&r, 2 * i) * powf(10, (float)(int)(i % 60) - 30);

    events_histogram *h = events_histogram_create();
    for (size_t i = 0; i < n_values; i++) {
        events_histogram_clear(h);
        events_histogram_add(h, &values[i], 1);
        histogram_summary s;
        histogram_summarise(h, &s);
        double expected = limits[reference_bucket(limits, (double)values[i])];
        for (size_t b = 0; b < s.n_buckets; b++)
            if (s.count[b] == 1 && s.limit[b] != expected)
                fail_msg("%a fell below %g, should be %g", (double)values[i], s.limit[b], expected);
        assert_true(s.n_buckets <= 3);
        histogram_summary_fini(&s);
    }
    events_histogram_destroy(&h);
    assert_null(h);
    free(values);
}

/* All at once is one after the other to the last bit, wherever what is no number stands among
 * them. */
static void test_many_values_are_one_and_one(void **state)
{
    (void)state;
    enum { N = 10007 };
    float *values = xmalloc(N * sizeof *values);
    rng r = rng_make(1, RNG_TEST, 11);
    for (uint64_t i = 0; i < N; i++)
        values[i] = i % 700 == 699 ? (i % 2 ? NAN : -INFINITY) : rng_normal(&r, 2 * i);
    values[0] = INFINITY;
    events_histogram *at_once = events_histogram_create(), *single = events_histogram_create();
    events_histogram_add(at_once, values, N);
    for (size_t i = 0; i < N; i++)
        events_histogram_add(single, &values[i], 1);
    size_t bytes = events_histogram_packed_bytes();
    unsigned char *packed = xmalloc(bytes), *expected = xmalloc(bytes);
    events_histogram_pack(at_once, packed);
    events_histogram_pack(single, expected);
    assert_memory_equal(packed, expected, bytes);
    histogram_summary s;
    histogram_summarise(at_once, &s);
    assert_true(s.num == N - 1 - N / 700);
    histogram_summary_fini(&s);
    free(packed);
    free(expected);
    free(values);
    events_histogram_destroy(&at_once);
    events_histogram_destroy(&single);
}

static void test_histograms_round_trip(void **state)
{
    (void)state;
    const float values[] = {-1, 0, 0.5f, 0.5f, 3, NAN, INFINITY, -INFINITY};
    events_histogram *h = events_histogram_create();
    events_histogram_add(h, values, COUNT_OF(values));
    events *e = open_in("histogram");
    events_add_histogram(e, 12, "weights", h);
    events_histogram_clear(h);
    events_add_histogram(e, 13, "none", h);
    events_close(&e);
    char *path = only_file("histogram");
    seen *s = xcalloc(1, sizeof *s);
    assert_int_equal(events_read(path, remember, s, NULL), OK);
    assert_int_equal(s->n, 3);
    const event_record *r = &s->records[1];
    assert_int_equal(r->kind, 2);
    assert_int_equal(r->step, 12);
    assert_string_equal(s->tags[1], "weights");
    assert_true(r->min == -1 && r->max == 3 && r->num == 5 && r->sum == 3);
    r = &s->records[2];
    assert_true(r->min == 0 && r->max == 0 && r->num == 0 && r->sum == 0);
    events_histogram_destroy(&h);
    free(s);
    free(path);
}

static void test_merging_is_adding(void **state)
{
    (void)state;
    float values[1000];
    rng r = rng_make(1, RNG_TEST, 10);
    for (uint64_t i = 0; i < COUNT_OF(values); i++)
        values[i] = (float)(int)rng_below(&r, i, 2000) / 8 - 100;
    events_histogram *whole = events_histogram_create(), *a = events_histogram_create(),
                     *b = events_histogram_create(), *none = events_histogram_create();
    events_histogram_add(whole, values, 1000);
    events_histogram_add(a, values, 300);
    events_histogram_add(b, values + 300, 700);
    size_t bytes = events_histogram_packed_bytes();
    unsigned char *packed = xmalloc(bytes), *expected = xmalloc(bytes);
    events_histogram_pack(none, packed);
    assert_int_equal(events_histogram_merge(a, packed, bytes, NULL), OK);
    events_histogram_pack(b, packed);
    assert_int_equal(events_histogram_merge(a, packed, bytes, NULL), OK);
    events_histogram_pack(a, packed);
    events_histogram_pack(whole, expected);
    assert_memory_equal(packed, expected, bytes);
    free(packed);
    free(expected);
    events_histogram_destroy(&whole);
    events_histogram_destroy(&a);
    events_histogram_destroy(&b);
    events_histogram_destroy(&none);
}

static void test_merging_refuses_nonsense(void **state)
{
    (void)state;
    events_histogram *h = events_histogram_create();
    const float one = 1;
    events_histogram_add(h, &one, 1);
    size_t bytes = events_histogram_packed_bytes();
    unsigned char *packed = xmalloc(bytes), *before = xmalloc(bytes);
    events_histogram_pack(h, before);
    error err = ERROR_INIT;
    assert_int_equal(events_histogram_merge(h, before, bytes - 1, &err), E_DATA);
    assert_non_null(strstr(err.text, "it must have"));
    static const struct {
        size_t at;
        unsigned char byte;
        const char *text;
    } rows[] = {
        {0, 'x', "not a packed histogram"}, {4, 2, "of version 1"},         {8, 3, "buckets"},
        {12, 1, "not a packed histogram"},  {23, 0x7f, "without a finite"}, /* min: its top byte */
        {48, 2, "whose buckets hold"},                                      /* num */
        {56, 1, "whose buckets hold"},                                      /* count[0] */
        {63, 0xff, "whose buckets hold"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        memcpy(packed, before, bytes);
        packed[rows[i].at] = rows[i].byte;
        if (rows[i].at == 23)
            packed[22] = 0xf0;
        error_clear(&err);
        assert_int_equal(events_histogram_merge(h, packed, bytes, &err), E_DATA);
        if (!strstr(err.text, rows[i].text))
            fail_msg("'%s' does not say '%s'", err.text, rows[i].text);
    }
    memset(packed + 56, 0xff, bytes - 56);
    error_clear(&err);
    memcpy(packed, before, 56);
    assert_int_equal(events_histogram_merge(h, packed, bytes, &err), E_DATA);
    assert_non_null(strstr(err.text, "overflow"));
    events_histogram_pack(h, packed);
    assert_memory_equal(packed, before, bytes);
    free(packed);
    free(before);
    events_histogram_destroy(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars_round_trip),
        cmocka_unit_test(test_text_round_trips),
        cmocka_unit_test(test_a_graph_is_tensorflows),
        cmocka_unit_test(test_the_first_bytes),
        cmocka_unit_test(test_two_files_in_one_second),
        cmocka_unit_test(test_torn_tails),
        cmocka_unit_test(test_damage_is_seen),
        cmocka_unit_test(test_a_failed_write_leaves_whole_records),
        cmocka_unit_test(test_buckets_are_tensorflows),
        cmocka_unit_test(test_many_values_are_one_and_one),
        cmocka_unit_test(test_histograms_round_trip),
        cmocka_unit_test(test_merging_is_adding),
        cmocka_unit_test(test_merging_refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
