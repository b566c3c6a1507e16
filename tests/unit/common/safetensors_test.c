#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "common/store/safetensors.h"
#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file image with this header text and so many zero bytes of data. */
static unsigned char *image(const char *header, size_t data_bytes, size_t *ret_n)
{
    size_t n = strlen(header);
    unsigned char *bytes = xcalloc(8 + n + data_bytes, 1);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(n >> (8 * i));
    memcpy(bytes + 8, header, n);
    *ret_n = 8 + n + data_bytes;
    return bytes;
}

static void assert_refused(const char *header, size_t data_bytes, const char *text)
{
    size_t n;
    unsigned char *bytes = image(header, data_bytes, &n);
    st_file *f = NULL;
    error err = ERROR_INIT;
    assert_int_equal(st_open_memory(bytes, n, "x.safetensors", &f, &err), E_DATA);
    assert_null(f);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
    assert_non_null(strstr(err.text, "x.safetensors"));
    free(bytes);
}

static void test_reads_what_the_format_says(void **state)
{
    (void)state;
    size_t n;
    unsigned char *bytes =
        image("{\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[3,11]},"
              "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
              "\"none\":{\"dtype\":\"I64\",\"shape\":[0,5],\"data_offsets\":[11,11]},"
              "\"one\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[11,13]},"
              "\"__metadata__\":{\"format\":\"pt\"}}   ",
              13, &n);
    st_file *f = NULL;
    assert_int_equal(st_open_memory(bytes, n, "x", &f, NULL), OK);
    assert_int_equal(st_count(f), 4);
    const char *order[] = {"a", "b", "none", "one"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(st_at(f, i)->name, order[i]);
        assert_ptr_equal(st_find(f, order[i]), st_at(f, i));
    }
    assert_null(st_find(f, "c"));
    assert_int_equal(st_at(f, 1)->rank, 2);
    assert_int_equal(st_at(f, 1)->dim[0], 2);
    assert_int_equal(st_at(f, 1)->dtype, DT_F32);
    assert_ptr_equal(st_at(f, 1)->data, bytes + n - 13 + 3);
    assert_int_equal(st_at(f, 2)->bytes, 0);
    assert_int_equal(st_at(f, 3)->bytes, 2);
    assert_string_equal(st_metadata(f, "format"), "pt");
    assert_null(st_metadata(f, "step"));
    assert_string_equal(st_metadata_key(f, 0), "format");
    assert_null(st_metadata_key(f, 1));
    st_close(&f);
    assert_null(f);
    st_close(&f);
    free(bytes);
}

static void test_refuses_bad_headers(void **state)
{
    (void)state;
#define ENTRY(dtype, shape, offsets)                                                               \
    "{\"w\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
    static const struct {
        const char *header;
        size_t data;
        const char *text;
    } rows[] = {
        {"[]", 0, "does not begin with '{'"},
        {"", 0, "does not begin with '{'"},
        {"{\"w\"", 0, "line 1"},
        {"{\"w\":{},\"w\":{}}", 0, "duplicate"},
        {"{\"w\":3}", 0, "tensor 'w': must be an object"},
        {"{\"w\":{\"dtype\":\"F32\"}}", 0, "tensor 'w': must be an object"},
        {ENTRY("3", "[1]", "[0,4]"), 4, "dtype must be a string, not an integer"},
        {ENTRY("\"F8_E4M3\"", "[1]", "[0,1]"), 1, "dtype 'F8_E4M3' is not one of"},
        {ENTRY("\"F32\"", "4", "[0,16]"), 16, "shape must be a list"},
        {ENTRY("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "at most 8 dimensions"},
        {ENTRY("\"F32\"", "[-1]", "[0,4]"), 4, "dimension 0 must be an integer of 0 or more"},
        {ENTRY("\"F32\"", "[1.5]", "[0,4]"), 4, "dimension 0"},
        {ENTRY("\"F32\"", "[4294967296,4294967296]", "[0,0]"), 0, "too many elements"},
        {ENTRY("\"F64\"", "[2305843009213693952]", "[0,0]"), 0, "too many elements"},
        {ENTRY("\"F32\"", "[1]", "[0]"), 4, "two integers"},
        {ENTRY("\"F32\"", "[1]", "[4,0]"), 4, "two integers"},
        {ENTRY("\"F32\"", "[1]", "[-4,0]"), 4, "two integers"},
        {ENTRY("\"F32\"", "[2]", "[0,4]"), 4, "hold 4 bytes, its shape needs 8"},
        {ENTRY("\"F32\"", "[1]", "[0,4]"), 3, "ends at byte 4 of 3"},
        {ENTRY("\"F32\"", "[1]", "[0,4]"), 5, "1 bytes behind the last tensor"},
        {ENTRY("\"F32\"", "[1]", "[1,5]"), 5, "leaves a hole"},
        {"{}", 1, "1 bytes behind"},
        {"{\"__metadata__\":[]}", 0, "__metadata__ must be an object, not a list"},
        {"{\"__metadata__\":{\"step\":4}}", 0, "'step' must be a string, not an integer"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
         3, "tensor 'b': begins at byte 1 and overlaps"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_refused(rows[i].header, rows[i].data, rows[i].text);
}

static void test_refuses_bad_sizes(void **state)
{
    (void)state;
    st_file *f = NULL;
    error err = ERROR_INIT;
    unsigned char seven[7] = {0};
    assert_int_equal(st_open_memory(seven, 7, "x", &f, &err), E_DATA);
    assert_non_null(strstr(err.text, "7 bytes are too few"));
    error_clear(&err);
    unsigned char huge[16];
    memset(huge, 0xff, sizeof huge);
    assert_int_equal(st_open_memory(huge, 16, "x", &f, &err), E_DATA);
    assert_non_null(strstr(err.text, "at most 100000000"));
    error_clear(&err);
    unsigned char beyond[16] = {9};
    assert_int_equal(st_open_memory(beyond, 16, "x", &f, &err), E_DATA);
    assert_non_null(strstr(err.text, "file truncated"));
    error_clear(&err);
    char *path = folder_file("absent");
    assert_int_equal(st_open(path, &f, &err), E_DATA);
    assert_non_null(strstr(err.text, path));
    free(path);
    path = folder_file("empty");
    assert_int_equal(fs_write_atomic(path, "", 0, NULL), OK);
    assert_int_equal(st_open(path, &f, NULL), E_DATA);
    free(path);
}

/* Random files written and read back; every byte, and the hash that was made on the way. */
static void test_round_trip(void **state)
{
    (void)state;
    char *path = folder_file("round.safetensors");
    for (uint64_t run = 0; run < 50; run++) {
        rng r = rng_make(run, RNG_TEST, 1);
        size_t n = (size_t)rng_below(&r, 0, 12);
        st_tensor tensors[12];
        char names[12][48];
        unsigned char data[12][512];
        for (size_t i = 0; i < n; i++) {
            snprintf(names[i], sizeof names[i], "tensor \"%zu\" \xc3\xa9", i);
            tensors[i] = (st_tensor){.name = names[i],
                                     .dtype = (dtype)rng_below(&r, 100 + i, DTYPE_COUNT),
                                     .rank = (int32_t)rng_below(&r, 200 + i, 4)};
            tensors[i].bytes = dtype_bytes(tensors[i].dtype);
            for (int32_t k = 0; k < tensors[i].rank; k++) {
                tensors[i].dim[k] = (int64_t)rng_below(&r, 300 + 8 * i + (uint64_t)k, 5);
                tensors[i].bytes *= (size_t)tensors[i].dim[k];
            }
            for (size_t b = 0; b < tensors[i].bytes; b++)
                data[i][b] = (unsigned char)rng_u32(&r, 1000 * i + b);
        }
        st_writer *w = NULL;
        st_meta meta = {"run", "yes"};
        assert_int_equal(st_writer_open(path, tensors, n, &meta, run % 2, &w, NULL), OK);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(st_writer_add(w, data[i], tensors[i].bytes, NULL), OK);
        char digest[SHA256_HEX], expected[SHA256_HEX];
        uint64_t bytes;
        assert_int_equal(st_writer_close(&w, digest, &bytes, NULL), OK);
        assert_null(w);

        buf whole = BUF_INIT;
        assert_int_equal(fs_read(path, 1 << 20, &whole, NULL), OK);
        sha256_hex(whole.data, whole.size, expected);
        assert_string_equal(digest, expected);
        assert_int_equal(bytes, whole.size);
        buf_fini(&whole);

        st_file *f = NULL;
        assert_int_equal(st_open(path, &f, NULL), OK);
        assert_int_equal(st_count(f), n);
        for (size_t i = 0; i < n; i++) {
            const st_tensor *t = st_find(f, names[i]);
            assert_non_null(t);
            assert_int_equal(t->dtype, tensors[i].dtype);
            assert_int_equal(t->rank, tensors[i].rank);
            assert_memory_equal(t->dim, tensors[i].dim, sizeof t->dim);
            assert_int_equal(t->bytes, tensors[i].bytes);
            assert_int_equal(memcmp(t->data, data[i], t->bytes), 0);
        }
        if (run % 2)
            assert_string_equal(st_metadata(f, "run"), "yes");
        else
            assert_null(st_metadata(f, "run"));
        st_close(&f);
    }
    free(path);
}

static void test_data_begins_at_a_multiple_of_8(void **state)
{
    (void)state;
    char *path = folder_file("aligned.safetensors");
    char name[20] = "";
    for (int i = 0; i < 9; i++) {
        strcat(name, "n");
        st_tensor t = {.name = name, .dtype = DT_U8, .rank = 0};
        st_writer *w = NULL;
        assert_int_equal(st_writer_open(path, &t, 1, NULL, 0, &w, NULL), OK);
        assert_int_equal(st_writer_add(w, "x", 1, NULL), OK);
        uint64_t bytes;
        assert_int_equal(st_writer_close(&w, NULL, &bytes, NULL), OK);
        assert_int_equal(bytes % 8, 1);
    }
    free(path);
}

static void test_writer_refuses(void **state)
{
    (void)state;
    char *path = folder_file("refused.safetensors");
    st_writer *w = NULL;
    st_tensor twice[] = {{.name = "a", .dtype = DT_F32}, {.name = "a", .dtype = DT_F32}};
    error err = ERROR_INIT;
    assert_int_equal(st_writer_open(path, twice, 2, NULL, 0, &w, &err), E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "the name is taken"));
    error_clear(&err);
    st_tensor reserved = {.name = "__metadata__", .dtype = DT_F32};
    assert_int_equal(st_writer_open(path, &reserved, 1, NULL, 0, &w, &err), E_UNSUPPORTED);
    error_clear(&err);
    st_tensor latin = {.name = "\xe9", .dtype = DT_F32};
    assert_int_equal(st_writer_open(path, &latin, 1, NULL, 0, &w, &err), E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "UTF-8"));
    error_clear(&err);
    st_tensor huge = {.name = "h", .dtype = DT_F32, .rank = 2, .dim = {1LL << 40, 1LL << 40}};
    assert_int_equal(st_writer_open(path, &huge, 1, NULL, 0, &w, &err), E_UNSUPPORTED);
    error_clear(&err);
    assert_false(fs_exists(path));
    char *nowhere = folder_file("no/such/folder");
    st_tensor fine = {.name = "a", .dtype = DT_F32};
    assert_int_equal(st_writer_open(nowhere, &fine, 1, NULL, 0, &w, &err), E_IO);
    assert_non_null(strstr(err.text, nowhere));
    free(nowhere);
    free(path);
}

static void test_abort_leaves_nothing(void **state)
{
    (void)state;
    char *path = folder_file("aborted.safetensors");
    st_writer *w = NULL;
    st_tensor t = {.name = "a", .dtype = DT_F32};
    assert_int_equal(st_writer_open(path, &t, 1, NULL, 0, &w, NULL), OK);
    assert_false(fs_exists(path));
    st_writer_abort(&w);
    assert_null(w);
    assert_false(fs_exists(path));
    free(path);
}

/* As that of a checkpoint which another server's shard has completed. */
static void test_a_renamed_folder_keeps_no_half_file(void **state)
{
    (void)state;
    char *fresh = folder_file("step.tmp.1"), *whole = folder_file("step"), *path = folder_file("step.tmp.1/a");
    const float value = 7;
    st_tensor t = {.name = "a", .dtype = DT_F32};
    st_writer *w = NULL;
    error err = ERROR_INIT;
    assert_int_equal(mkdir(fresh, 0777), 0);
    assert_int_equal(st_writer_open(path, &t, 1, NULL, 0, &w, NULL), OK);
    assert_int_equal(st_writer_add(w, &value, sizeof value, NULL), OK);
    assert_int_equal(rename(fresh, whole), 0);
    assert_int_equal(st_writer_close(&w, NULL, NULL, &err), E_IO);
    assert_non_null(strstr(err.text, "step.tmp.1/a': No such file or directory"));
    assert_null(w);
    assert_int_equal(rmdir(whole), 0); /* it is empty */
    free(path);
    free(whole);
    free(fresh);
}

/* One gets through, whatever becomes of the others. */
static void test_several_write_one_file(void **state)
{
    (void)state;
    char *path = folder_file("shared.safetensors");
    const float value = 7;
    st_tensor t = {.name = "a", .dtype = DT_F32};
    st_writer *w[3] = {NULL};
    for (int i = 0; i < 3; i++)
        assert_int_equal(st_writer_open(path, &t, 1, NULL, 0, &w[i], NULL), OK);
    assert_int_equal(st_writer_add(w[0], &value, sizeof value, NULL), OK);
    assert_int_equal(st_writer_add(w[1], &value, sizeof value, NULL), OK);
    assert_int_equal(st_writer_close(&w[1], NULL, NULL, NULL), OK);
    st_writer_abort(&w[2]);
    st_file *f = NULL;
    assert_int_equal(st_open(path, &f, NULL), OK);
    assert_memory_equal(st_at(f, 0)->data, &value, sizeof value);
    assert_int_equal(st_writer_close(&w[0], NULL, NULL, NULL), OK);
    st_close(&f);
    assert_int_equal(st_open(path, &f, NULL), OK);
    st_close(&f);
    free(path);
}

/* Any damage is either refused or leaves a table that lies inside the file. */
static void test_random_damage_never_escapes(void **state)
{
    (void)state;
    size_t n;
    unsigned char *bytes = image("{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],"
                                 "\"data_offsets\":[0,24]},\"bias\":{\"dtype\":\"I64\","
                                 "\"shape\":[2],\"data_offsets\":[24,40]}}",
                                 40, &n);
    rng r = rng_make(11, RNG_TEST, 2);
    for (uint64_t run = 0; run < 20000; run++) {
        size_t cut = n - (rng_below(&r, 4 * run, 4) ? 0 : (size_t)rng_below(&r, 4 * run + 1, n));
        unsigned char *copy = xmalloc(cut + 1);
        memcpy(copy, bytes, cut);
        if (cut)
            copy[rng_below(&r, 4 * run + 2, cut)] = (unsigned char)rng_u32(&r, 4 * run + 3);
        st_file *f = NULL;
        if (st_open_memory(copy, cut, "x", &f, NULL) == OK) {
            for (size_t i = 0; i < st_count(f); i++) {
                const unsigned char *begin = st_at(f, i)->data;
                assert_true(begin >= copy && begin + st_at(f, i)->bytes <= copy + cut);
            }
            st_close(&f);
        }
        free(copy);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_the_format_says),
        cmocka_unit_test(test_refuses_bad_headers),
        cmocka_unit_test(test_refuses_bad_sizes),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_data_begins_at_a_multiple_of_8),
        cmocka_unit_test(test_writer_refuses),
        cmocka_unit_test(test_abort_leaves_nothing),
        cmocka_unit_test(test_a_renamed_folder_keeps_no_half_file),
        cmocka_unit_test(test_several_write_one_file),
        cmocka_unit_test(test_random_damage_never_escapes),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
