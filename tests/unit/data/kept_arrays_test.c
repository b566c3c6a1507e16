/* Arrays that are made of data files and kept: made once by several processes, mapped by all, never believed when they
 * are torn, damaged or of other data, and in memory where they cannot be kept. What the readers `text`,
 * `transformer_squad`, `csv` and `conll2003` make so is the same either way, and is in nobody's heap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/data.h"
#include "data/index/index.h"
#include "data/index/kept_arrays.h"
#include "support/folder.h"
#include "unit/data/support_cache.h"
#include "unit/data/support_idx.h"
#include "unit/data/support_records.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBERS, BYTES, NONE, ARRAYS, N = 100000, N_BYTES = 77 };

typedef struct making {
    int calls;
    status fails;                   /* what it says when all is written */
} making;

static status make(void *user, kept_writer *w, error *err)
{
    making *m = user;
    m->calls++;
    for (uint32_t i = 0, one; i < N; i++) {
        one = i * i;
        TRY(kept_write(w, NUMBERS, &one, 1, err));
    }
    char bytes[N_BYTES];
    memset(bytes, 'x', sizeof bytes);
    TRY(kept_write(w, BYTES, bytes, sizeof bytes, err));
    TRY(kept_write(w, NONE, NULL, 0, err));
    return m->fails == OK ? OK : FAIL(err, m->fails, "it cannot be made");
}

static bool is_sound(const void *user, const kept_arrays *a)
{
    (void)user;
    return a->at[BYTES].n == N_BYTES;
}

static kept_recipe recipe_of(making *m)
{
    return (kept_recipe){.what = "numbers",
                         .of = "the data",
                         .source_bytes = INDEX_KEPT_BYTES,
                         .n = ARRAYS,
                         .width = {sizeof(uint32_t), 1, 16},
                         .make = make,
                         .is_sound = is_sound,
                         .user = m};
}

static cache_key key_of(int64_t changed_ns)
{
    cache_key key;
    cache_key_make("the data", NULL, changed_ns, "abc", 3, &key);
    return key;
}

static void check(const kept_arrays *a)
{
    const uint32_t *numbers = a->at[NUMBERS].at;
    assert_int_equal(a->at[NUMBERS].n, N);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(numbers[i], i * i);
    assert_int_equal(a->at[BYTES].n, N_BYTES);
    assert_int_equal(((const char *)a->at[BYTES].at)[N_BYTES - 1], 'x');
    assert_int_equal(a->at[NONE].n, 0);
    for (size_t i = 0; i < ARRAYS; i++)
        assert_int_equal((uintptr_t)a->at[i].at % KEPT_ALIGN, 0);
}

/* Opens them, checks them, and says how often they were made; whether they lie in the heap, if asked. */
static int times_made(int64_t changed_ns, bool *ret_in_heap)
{
    making m = {.calls = 0};
    kept_recipe r = recipe_of(&m);
    cache_key key = key_of(changed_ns);
    kept_arrays a;
    error err = ERROR_INIT;
    if (kept_arrays_open(&key, &r, &a, &err) != OK)
        fail_msg("%s", err.text);
    check(&a);
    assert_int_equal(a.is_new, m.calls > 0);
    if (ret_in_heap)
        *ret_in_heap = kept_arrays_heap_bytes(&a, &r) == N * sizeof(uint32_t) + N_BYTES;
    else
        assert_int_equal(kept_arrays_heap_bytes(&a, &r), 0);
    kept_arrays_close(&a);
    return m.calls;
}

static void test_they_are_kept_and_never_believed(void **state)
{
    assert_int_equal(times_made(1, NULL), 1);
    assert_int_equal(times_made(1, NULL), 0);
    char *kept = cache_kept_file(*state, ".numbers");
    struct stat info;
    assert_int_equal(stat(kept, &info), 0);
    const long places[] = {0, N * 4 + N_BYTES, -1, -150, -290}; /* between the arrays and the tail, and there */
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        cache_damage(kept, places[i], places[i] < 0);
        assert_int_equal(times_made(1, NULL), 1);
    }
    const off_t sizes[] = {0, 100, info.st_size - 64, info.st_size + 64};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        assert_int_equal(truncate(kept, sizes[i]), 0);
        assert_int_equal(times_made(1, NULL), 1);
    }
    assert_int_equal(times_made(1, NULL), 0);
    free(kept);
}

static void test_other_data_have_others(void **state)
{
    (void)state;
    assert_int_equal(times_made(1, NULL), 1);
    assert_int_equal(times_made(2, NULL), 1);
    assert_int_equal(times_made(2, NULL), 0);
    assert_int_equal(times_made(1, NULL), 1);
}

static void test_what_cannot_be_made_is_not_kept(void **state)
{
    making m = {.fails = E_DATA};
    kept_recipe r = recipe_of(&m);
    cache_key key = key_of(1);
    kept_arrays a;
    error err = ERROR_INIT;
    assert_int_equal(kept_arrays_open(&key, &r, &a, &err), E_DATA);
    assert_string_equal(err.text, "it cannot be made");
    assert_int_equal(m.calls, 1);
    r.source_bytes = 1;
    assert_int_equal(kept_arrays_open(&key, &r, &a, &err), E_DATA);
    char **names = NULL;
    size_t n = 0;
    assert_int_equal(fs_list(*state, &names, &n, NULL), OK);
    for (size_t i = 0; i < n; i++)
        assert_non_null(strstr(names[i], ".lock"));
    fs_list_free(names, n);
}

static bool makes(void *user)
{
    (void)user;
    return times_made(1, NULL) > 0;
}

static void test_one_process_makes_them(void **state)
{
    (void)state;
    assert_int_equal(cache_makers(6, makes, NULL), 1);
}

/* The disk is full in the midst of the file: a limit on files stands for it. */
static void test_a_full_disk(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        bool in_heap = false;
        struct rlimit limit = {.rlim_cur = 9999, .rlim_max = 9999};
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(9);
        int calls = times_made(1, &in_heap); /* once for the file, and once for the memory */
        _exit(calls == 2 && in_heap ? 0 : 1);
    }
    int code = 0;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    assert_int_equal(times_made(1, NULL), 1);
}

static void test_without_a_cache(void **state)
{
    (void)state;
    bool in_heap = false;
    char *file = folder_file("no-folder");
    buf b = {.data = (char *)(uintptr_t)"x", .size = 1};
    free(test_file(folder_path(), "no-folder", &b));
    setenv("TEQUIO_CACHE", file, 1);
    assert_int_equal(times_made(1, &in_heap), 1);
    assert_true(in_heap);
    free(file);
}

/* --- readers --- */

static char *tokenizer_path(void)
{
    static const char words[] =
        "{\"added_tokens\": [{\"id\": 3, \"content\": \"[CLS]\", \"special\": true, \"normalized\": false,"
        "\"single_word\": false, \"lstrip\": false, \"rstrip\": false}],"
        "\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"},"
        "\"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[CLS]\", 3], \"cls\": [\"[CLS]\", 3]},"
        "\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"a\": 1, \"word\": 2}}}";
    buf b = {.data = (char *)(uintptr_t)words, .size = sizeof words - 1};
    return test_file(folder_path(), "tokenizer.json", &b);
}

/* A megabyte and a little more. */
static char *text_path(void)
{
    buf b = BUF_INIT;
    for (int i = 0; b.size <= INDEX_KEPT_BYTES; i++)
        buf_adds(&b, i % 3 ? "a word " : "more of a word ");
    char *path = test_file(folder_path(), "text.txt", &b);
    buf_fini(&b);
    return path;
}

static char *squad_path(void)
{
    buf b = BUF_INIT;
    buf_adds(&b, "{\"data\": [{\"paragraphs\": [");
    for (int i = 0; b.size <= INDEX_KEPT_BYTES; i++) {
        buf_addf(&b, "%s{\"context\": \"", i ? "," : "");
        for (int k = 0; k < 40 + i % 7; k++)
            buf_adds(&b, "a word ");
        buf_addf(&b, "\", \"qas\": [{\"id\": \"%d\", \"question\": \"a word a\", \"answers\": [{\"text\": \"word\","
                     "\"answer_start\": %d}]}]}", i, 2 + 7 * (i % 40));
    }
    buf_adds(&b, "]}]}");
    char *path = test_file(folder_path(), "squad.json", &b);
    buf_fini(&b);
    return path;
}

static dataset *opens(const char *type, const char *reader, const char *path)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (records_open_path(type, reader, path, &(dataset_options){.vocabulary = NULL}, &d, &err) != OK)
        fail_msg("%s", err.text);
    return d;
}

/* What it is, and every example of it. */
static void describe(const dataset *d, buf *ret)
{
    size_t n_fields;
    const data_field *f = dataset_fields(d, &n_fields);
    void *row[DATA_FIELDS];
    dataset_facts(d, "train_data_path", FACTS_FULL, ret);
    for (size_t k = 0; k < n_fields; k++)
        row[k] = xcalloc(1, data_field_bytes(&f[k]));
    for (int64_t i = 0; i < dataset_examples(d); i++) {
        assert_int_equal(dataset_read(d, i, row, NULL), OK);
        for (size_t k = 0; k < n_fields; k++)
            buf_add(ret, row[k], data_field_bytes(&f[k]));
    }
    for (size_t k = 0; k < n_fields; k++)
        free(row[k]);
}

/* The first opening, the second, one in memory: the same data; the second has at most `heap` bytes of it. */
static void check_reader(const char *type, const char *reader, const char *path, const char *ending, const char *cache,
                         size_t heap)
{
    buf all[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            setenv("TEQUIO_CACHE", path, 1); /* no folder */
        size_t before = cache_heap_bytes();
        dataset *d = opens(type, reader, path);
        if (i == 1 && cache_heap_bytes() - before > heap)
            fail_msg("%zu bytes of heap", cache_heap_bytes() - before);
        describe(d, &all[i]);
        dataset_close(&d);
        assert_int_equal(all[i].size, all[0].size);
        assert_memory_equal(all[i].data, all[0].data, all[0].size);
    }
    free(cache_kept_file(cache, ending));
    for (int i = 0; i < 3; i++)
        buf_fini(&all[i]);
}

enum { SLACK = 192 << 10 }; /* the tokenizer, the configuration */

static void test_text(void **state)
{
    char *tokenizer = tokenizer_path(), *path = text_path();
    char *reader = xasprintf("{tokenizer: '%s', end_of_text: '[CLS]', context: 50}", tokenizer);
    check_reader("text", reader, path, ".tokens", *state, SLACK);
    setenv("TEQUIO_CACHE", *state, 1);
    check_reader("text", "{context: 50}", path, ".tokens", *state, SLACK);
    free(reader);
    free(path);
    free(tokenizer);
}

static void test_squad(void **state)
{
    char *tokenizer = tokenizer_path(), *path = squad_path();
    char *reader = xasprintf("{transformer_model_name: '%s', length_limit: 48, stride: 8}", tokenizer);
    check_reader("transformer_squad", reader, path, ".squad", *state, SLACK);
    /* another option, another tokenizer: others are made */
    char *other = xasprintf("{transformer_model_name: '%s', length_limit: 40, stride: 8}", tokenizer);
    setenv("TEQUIO_CACHE", *state, 1);
    dataset *a = opens("transformer_squad", reader, path), *b = opens("transformer_squad", other, path);
    assert_true(dataset_examples(b) > dataset_examples(a));
    dataset_close(&a);
    dataset_close(&b);
    free(other);
    free(reader);
    free(path);
    free(tokenizer);
}

static void test_texts_of_tables(void **state)
{
    char *tokenizer = tokenizer_path();
    buf b = BUF_INIT;
    buf_adds(&b, "t,number,label\n");
    for (int i = 0; b.size <= INDEX_KEPT_BYTES; i++) {
        buf_adds(&b, "\"a");
        for (int k = 0; k < 30 + i % 11; k++)
            buf_adds(&b, k % 3 ? " word" : ", a word");
        buf_addf(&b, "\",%d,%s\n", i, i % 2 ? "yes" : "no");
    }
    char *path = test_file(folder_path(), "table.csv", &b);
    char *reader = xasprintf("{tokenizer: '%s', text: 't', numeric: ['number'], label: 'label', "
                             "max_sequence_length: 48}", tokenizer);
    size_t rows = b.size / 150;
    check_reader("csv", reader, path, ".texts", *state, SLACK + rows * 32); /* lines, numbers, labels, lengths */
    buf_fini(&b);
    free(reader);
    free(path);
    free(tokenizer);
}

static void test_tagged_sentences(void **state)
{
    char *tokenizer = tokenizer_path();
    buf b = BUF_INIT;
    size_t words = 0;
    for (int i = 0; b.size <= INDEX_KEPT_BYTES; i++) {
        for (int k = 0; k < 20 + i % 7; k++, words++)
            buf_adds(&b, k % 3 ? "word NN I-NP O\n" : "a DT I-NP I-PER\n");
        buf_adds(&b, "\n");
    }
    char *path = test_file(folder_path(), "tagged.txt", &b);
    char *reader = xasprintf("{tokenizer: '%s', max_length: 24, truncate: true}", tokenizer);
    check_reader("conll2003", reader, path, ".rows", *state, SLACK + words * 48); /* words and tags */
    buf_fini(&b);
    free(reader);
    free(path);
    free(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_they_are_kept_and_never_believed, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_other_data_have_others, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_made_is_not_kept, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_one_process_makes_them, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_a_full_disk, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_without_a_cache, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_text, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_squad, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_texts_of_tables, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_tagged_sentences, cache_fresh, cache_drop),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
