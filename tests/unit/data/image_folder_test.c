/* Pictures in a folder a class, and by lists: classes, the order of examples, parts, what is broken, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/data.h"
#include "support/folder.h"
#include "unit/data/support_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 8, PLANE = SIDE * SIDE };

static const char *const size_8 = "{size: 8}";

/* --- folders --- */

static void copy_to(const char *from, const char *to)
{
    buf b = BUF_INIT;
    char *source = xasprintf("%s/pictures/%s", TEST_DATA_DIR, from), *target = folder_file("%s", to);
    char *folder = fs_parent(target);
    assert_int_equal(fs_mkdirs(folder, NULL), OK);
    assert_int_equal(fs_read(source, 1 << 20, &b, NULL), OK);
    assert_int_equal(fs_write_atomic(target, b.data, b.size, NULL), OK);
    free(folder);
    free(source);
    free(target);
    buf_fini(&b);
}

static void write_to(const char *to, const char *text)
{
    char *target = folder_file("%s", to), *folder = fs_parent(target);
    assert_int_equal(fs_mkdirs(folder, NULL), OK);
    assert_int_equal(fs_write_atomic(target, text, strlen(text), NULL), OK);
    free(folder);
    free(target);
}

/* pets: two cats, six dogs (one in a folder of its own), and files that are no pictures. */
static void make_pets(void)
{
    copy_to("colour.jpg", "pets/cats/1.jpg");
    copy_to("grey.jpg", "pets/cats/2.jpg");
    for (int i = 1; i <= 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "pets/dogs/%d.png", i);
        copy_to("colour.png", name);
    }
    copy_to("cmyk.jpg", "pets/dogs/more/6.JPG");
    write_to("pets/README.md", "pets");
    write_to("pets/dogs/Thumbs.db", "thumbs");
    write_to("pets/dogs/._1.png", "of a Mac");
    write_to("pets/.cache/x.png", "hidden");
}

/* Nothing is kept between runs: the cache is in the test's folder. */
static int set_up(void **state)
{
    if (folder_set_up(state) != 0)
        return -1;
    char *cache = folder_file("cache");
    assert_int_equal(setenv("TEQUIO_CACHE", cache, 1), 0);
    free(cache);
    make_pets();
    return 0;
}

static status opens(const char *folder, const char *reader, const dataset_options *how, dataset **ret, error *err)
{
    char *path = folder_file("%s", folder);
    status st = records_open_path("image_folder", reader, path, how, ret, err);
    free(path);
    return st;
}

static dataset *must_open(const char *folder, const char *reader, const dataset_options *how)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (opens(folder, reader, how, &d, &err) != OK)
        fail_msg("%s", err.text);
    return d;
}

static void expect_refusal(const char *folder, const char *reader, const dataset_options *how, status code,
                           const char *part)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_int_equal(opens(folder, reader, how, &d, &err), code);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, err.text);
}

static const dataset_options plain = {.vocabulary = NULL};

/* The names of the examples, parted by blanks. */
static char *names_of(const dataset *d)
{
    buf all = BUF_INIT;
    for (int64_t i = 0; i < dataset_examples(d); i++) {
        buf_adds(&all, i ? " " : "");
        assert_true(dataset_example_name(d, i, &all));
    }
    return buf_detach(&all);
}

static void expect_names(const dataset *d, const char *want)
{
    char *names = names_of(d);
    assert_string_equal(names, want);
    free(names);
}

/* --- reading --- */

static void test_folders_are_classes(void **state)
{
    (void)state;
    dataset *d = must_open("pets", size_8, &plain);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 2);
    assert_string_equal(f[0].name, "image");
    assert_int_equal(f[0].rank, 3);
    assert_int_equal(data_field_elements(&f[0]), 3 * PLANE);
    assert_int_equal(f[1].classes, 2);
    assert_string_equal(dataset_vocabulary(d), "{\"label\":{\"label\":[\"cats\",\"dogs\"]}}");
    float image[3 * PLANE];
    int64_t label;
    buf word = BUF_INIT;
    for (int64_t i = 0; i < dataset_examples(d); i++) {
        assert_int_equal(dataset_read(d, i, (void *[]){image, &label}, NULL), OK);
        buf_clear(&word);
        assert_true(dataset_example_name(d, i, &word));
        assert_int_equal(label, strncmp(word.data, "dogs/", 5) == 0);
        buf_clear(&word);
        assert_true(dataset_label_word(d, label, &word));
        assert_string_equal(word.data, label ? "dogs" : "cats");
    }
    buf_fini(&word);
    dataset_close(&d);
}

/* Whatever part is read, it has both classes in their proportion. */
static void test_pictures_are_dealt(void **state)
{
    (void)state;
    dataset *d = must_open("pets", size_8, &plain);
    expect_names(d, "dogs/1.png cats/1.jpg dogs/2.png dogs/3.png dogs/4.png cats/2.jpg dogs/5.png dogs/more/6.JPG");
    dataset_close(&d);
    d = must_open("pets", "{size: 8, range: [0.5, 1]}", &plain);
    expect_names(d, "dogs/4.png cats/2.jpg dogs/5.png dogs/more/6.JPG");
    dataset_close(&d);
    d = must_open("pets", "{size: 8, limit: 2}", &plain);
    expect_names(d, "dogs/1.png cats/1.jpg");
    dataset_close(&d);
}

static void test_numbers_are_normalized_bytes(void **state)
{
    (void)state;
    dataset *d = must_open("pets", "{size: 8, mean: [0.5, 0.25, 0], std: [0.5, 1, 2]}", &plain);
    static const double mean[3] = {0.5, 0.25, 0.0}, std[3] = {0.5, 1.0, 2.0};
    float image[3 * PLANE];
    unsigned char bytes[3 * PLANE];
    int64_t label;
    for (int64_t i = 0; i < dataset_examples(d); i++) {
        assert_int_equal(dataset_read(d, i, (void *[]){image, &label}, NULL), OK);
        assert_int_equal(dataset_read_bytes(d, i, (void *[]){bytes, &label}, NULL), OK);
        for (int k = 0; k < 3 * PLANE; k++) {
            double x = ((double)bytes[k] / 255.0 - mean[k / PLANE]) / std[k / PLANE] - (double)image[k];
            assert_true(x < 1e-6 && x > -1e-6);
        }
    }
    dataset_close(&d);
}

static void test_grey_has_one_channel(void **state)
{
    (void)state;
    dataset *d = must_open("pets", "{size: [4, 6], fit: 'stretch', color_mode: 'grayscale', mean: [0.5]}", &plain);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(f[0].dim[0], 1);
    assert_int_equal(f[0].dim[1], 4);
    assert_int_equal(f[0].dim[2], 6);
    dataset_close(&d);
}

/* --- classes that are known --- */

static void test_classes_of_training_count(void **state)
{
    (void)state;
    static const dataset_options three = {.vocabulary = "{\"label\": {\"label\": [\"birds\", \"dogs\", \"cats\"]}}"},
                                 other = {.vocabulary = "{\"label\": {\"label\": [\"cats\", \"birds\"]}}"};
    dataset *d = must_open("pets", size_8, &three);
    float image[3 * PLANE];
    int64_t label;
    assert_int_equal(dataset_read(d, 0, (void *[]){image, &label}, NULL), OK);
    assert_int_equal(label, 1);
    dataset_close(&d);
    expect_refusal("pets", size_8, &other, E_DATA, "'dogs' is none of the 2 classes that are known ('cats' and so on)");
    d = must_open("pets", "{size: 8, class_names: ['dogs', 'cats']}", &plain);
    assert_string_equal(dataset_vocabulary(d), "{\"label\":{\"label\":[\"dogs\",\"cats\"]}}");
    dataset_close(&d);
    expect_refusal("pets", "{size: 8, class_names: ['dogs', 'cats', 'fish']}", &plain, E_DATA,
                   "there is no picture of the class 'fish'");
}

static void test_without_labels_any_tree_will_do(void **state)
{
    (void)state;
    static const dataset_options how = {.vocabulary = "{\"label\": {\"label\": [\"a\", \"b\"]}}",
                                        .without_labels = true};
    dataset *d = must_open("pets", size_8, &how);
    size_t n;
    dataset_fields(d, &n);
    assert_int_equal(n, 1);
    expect_names(d, "cats/1.jpg cats/2.jpg dogs/1.png dogs/2.png dogs/3.png dogs/4.png dogs/5.png dogs/more/6.JPG");
    buf word = BUF_INIT;
    assert_true(dataset_label_word(d, 1, &word));
    assert_string_equal(word.data, "b");
    buf_fini(&word);
    dataset_close(&d);
    d = must_open("pets/cats/2.jpg", size_8, &how);
    expect_names(d, "2.jpg");
    dataset_close(&d);
    expect_refusal("pets/README.md", size_8, &how, E_DATA, "holds no picture");
}

/* --- what is broken --- */

static void test_broken_pictures_are_named(void **state)
{
    (void)state;
    copy_to("colour.jpg", "broken/cats/1.jpg");
    copy_to("colour.png", "broken/cats/2.jpg"); /* is read as what it is */
    write_to("broken/cats/3.jpg", "");
    write_to("broken/dogs/1.png", "GIF89a...");
    copy_to("grey.jpg", "broken/dogs/2.jpg");
    expect_refusal("broken", size_8, &plain, E_DATA, "2 of 5 pictures cannot be read");
    expect_refusal("broken", size_8, &plain, E_DATA, "'cats/3.jpg': is empty");
    expect_refusal("broken", size_8, &plain, E_DATA, "'dogs/1.png': is a GIF by its first bytes; JPEG, PNG and");
    char *cut = folder_file("broken/dogs/2.jpg");
    assert_int_equal(truncate(cut, 700), 0);
    free(cut);
    for (int again = 0; again < 2; again++) /* the second time by what is kept */
        expect_refusal("broken", "{size: 8, on_error: 'skip'}", &plain, E_DATA,
                       "there is no picture of the class 'dogs'");
    copy_to("grey.jpg", "broken/dogs/4.jpg");
    for (int again = 0; again < 2; again++) {
        dataset *d = must_open("broken", "{size: 8, on_error: 'skip'}", &plain);
        expect_names(d, "cats/1.jpg dogs/4.jpg cats/2.jpg");
        dataset_close(&d);
    }
}

/* Its head is whole, so it is found when it is read. */
static void test_a_picture_that_is_cut_off_fails_where_it_is_read(void **state)
{
    (void)state;
    copy_to("colour.jpg", "cut/cats/1.jpg");
    char *path = folder_file("cut/cats/1.jpg");
    assert_int_equal(truncate(path, 1500), 0);
    dataset *d = must_open("cut", size_8, &plain);
    float image[3 * PLANE];
    int64_t label;
    error err = ERROR_INIT;
    assert_int_equal(dataset_read(d, 0, (void *[]){image, &label}, &err), E_DATA);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "is a damaged JPEG"));
    dataset_close(&d);
    free(path);
}

static void test_facts_know_the_pictures(void **state)
{
    (void)state;
    char *changed = folder_file("facts/cats/1.png");
    buf before = BUF_INIT, after = BUF_INIT;
    copy_to("colour.png", "facts/cats/1.png");
    dataset *d = must_open("facts", size_8, &plain);
    dataset_facts(d, "train_data_path", FACTS_FULL, &before);
    dataset_close(&d);
    assert_non_null(strstr(before.data, "train_data_path.files_sha256="));
    copy_to("alpha.png", "facts/cats/1.png");
    d = must_open("facts", size_8, &plain);
    dataset_facts(d, "train_data_path", FACTS_SAMPLED, &after);
    dataset_close(&d);
    assert_true(facts_differ(before.data, after.data, NULL));
    buf_fini(&before);
    buf_fini(&after);
    free(changed);
}

/* --- lists --- */

static status opens_list(const char *list, const char *text, const char *reader, const dataset_options *how,
                         dataset **ret, error *err)
{
    write_to(list, text);
    char *path = folder_file("%s", list);
    status st = records_open_path("image_list", reader, path, how, ret, err);
    free(path);
    return st;
}

/* "NAME:LABEL" of each example. */
static void expect_list(const char *text, const char *reader, const dataset_options *how, const char *want)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    buf got = BUF_INIT;
    size_t n;
    if (opens_list("pets.txt", text, reader, how, &d, &err) != OK)
        fail_msg("%s", err.text);
    dataset_fields(d, &n);
    for (int64_t i = 0; i < dataset_examples(d); i++) {
        unsigned char image[3 * PLANE];
        int64_t label = -1;
        assert_int_equal(dataset_read_bytes(d, i, (void *[]){image, &label}, NULL), OK);
        buf_adds(&got, i ? " " : "");
        assert_true(dataset_example_name(d, i, &got));
        if (n > 1) {
            buf_adds(&got, ":");
            assert_true(dataset_label_word(d, label, &got));
        }
    }
    assert_string_equal(got.data, want);
    buf_fini(&got);
    dataset_close(&d);
}

static void refuse_list(const char *text, const char *reader, status code, const char *part)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_int_equal(opens_list("pets.txt", text, reader, &plain, &d, &err), code);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, err.text);
}

static void test_lists_of_lines(void **state)
{
    (void)state;
    static const dataset_options unlabelled = {.without_labels = true};
    copy_to("grey.png", "pets/a cat.png");
    expect_list("pets/cats/1.jpg cat\npets/a cat.png\t cat\r\n\npets/dogs/1.png dog", size_8, &plain,
                "pets/cats/1.jpg:cat pets/dogs/1.png:dog pets/a cat.png:cat");
    char *cats = xasprintf("{size: 8, root: '%s/pets/cats'}", folder_path());
    expect_list("1.jpg 10\n2.jpg 9\n", cats, &plain, "2.jpg:9 1.jpg:10");
    free(cats);
    expect_list("pets/a cat.png\npets/cats/1.jpg cat\n", size_8, &unlabelled, "pets/a cat.png pets/cats/1.jpg");
    refuse_list("pets/cats/1.jpg\n", size_8, E_DATA, "line 1: 'pets/cats/1.jpg' has no label");
    refuse_list("a.jpg x\nb.jpg x\npets/cats/1.jpg x\n", size_8, E_DATA, "2 of 3 pictures cannot be read");
    refuse_list("\n", size_8, E_DATA, "lists no picture");
    expect_refusal("pets/cats/1.jpg", size_8, &plain, E_DATA, "is a file; expected a folder");
}

static void test_lists_of_cells(void **state)
{
    (void)state;
    expect_list("file,kind\npets/cats/1.jpg,cat\npets/dogs/1.png,dog\n", "{size: 8, separator: ','}", &plain,
                "pets/cats/1.jpg:cat pets/dogs/1.png:dog");
    expect_list("kind,n,file\ncat,1,\"pets/cats/1.jpg\"\n",
                "{size: 8, separator: ',', path: 'file', label: 'kind'}", &plain, "pets/cats/1.jpg:cat");
    expect_list("cat;pets/cats/1.jpg\n", "{size: 8, separator: ';', header: false, path: '1', label: '0'}", &plain,
                "pets/cats/1.jpg:cat");
    refuse_list("file,kind\npets/cats/1.jpg\n", "{size: 8, separator: ','}", E_DATA,
                "line 2 has 1 columns, the first row 2");
    refuse_list("file,kind\npets/cats/1.jpg,\n", "{size: 8, separator: ','}", E_DATA,
                "line 2: expected a path and a label");
    refuse_list("file,kind\nx,y\n", "{size: 8, separator: ',', label: 'class'}", E_CONFIG, "has no column class");
    refuse_list("file,kind\nx,y\n", "{size: 8, separator: ',,'}", E_CONFIG, "no single character");
}

/* Shares of the classes of each picture, "cat tail: 1 0, 0 0". */
static void expect_shares(const char *text, const char *reader, const char *want)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    buf got = BUF_INIT;
    size_t n;
    if (opens_list("pets.txt", text, reader, &plain, &d, &err) != OK)
        fail_msg("%s", err.text);
    const data_field *label = dataset_fields(d, &n) + 1;
    assert_int_equal(label->dtype, DT_F32);
    assert_int_equal(label->rank, 1);
    for (int64_t c = 0; c < label->dim[0]; c++) {
        buf_adds(&got, c ? " " : "");
        assert_true(dataset_label_word(d, c, &got));
    }
    for (int64_t i = 0; i < dataset_examples(d); i++) {
        unsigned char image[3 * PLANE];
        float shares[8] = {-1.0f};
        assert_int_equal(dataset_read_bytes(d, i, (void *[]){image, shares}, NULL), OK);
        buf_adds(&got, i ? "," : ":");
        for (int64_t c = 0; c < label->dim[0]; c++)
            buf_addf(&got, " %g", (double)shares[c]);
    }
    assert_string_equal(got.data, want);
    buf_fini(&got);
    dataset_close(&d);
}

static void test_any_number_of_labels(void **state)
{
    (void)state;
    static const char many[] = "{size: 8, label_is: 'labels'}";
    copy_to("grey.png", "pets/a cat.png");
    expect_shares("pets/cats/1.jpg tail,cat\npets/a cat.png\npets/dogs/1.png dog\npets/a cat.png cat\n", many,
                  "cat dog tail: 1 0 1, 0 0 0, 0 1 0, 1 0 0");
    expect_shares("file,has\npets/cats/1.jpg,tail|cat\npets/dogs/1.png,\n",
                  "{size: 8, separator: ',', label_is: 'labels', label_separator: '|'}", "cat tail: 1 1, 0 0");
    expect_shares("pets/cats/1.jpg b,a\n", "{size: 8, label_is: 'labels', class_names: ['b', 'a']}", "b a: 1 1");
    refuse_list("pets/cats/1.jpg b,,a\n", many, E_DATA, "line 1: expected a path and a label");
    refuse_list("pets/cats/1.jpg b,c\n", "{size: 8, label_is: 'labels', class_names: ['b']}", E_DATA,
                "'c' is none of the 1 classes");
    refuse_list("pets/cats/1.jpg\n", many, E_DATA, "no picture has a label");
    refuse_list("pets/cats/1.jpg a\n", "{size: 8, label_is: 'labels', label_separator: 'ab'}", E_CONFIG,
                "label_separator: 'ab' is no single character");
}

/* Readers whose lists say other labels read other data. */
static void test_labels_of_lists_are_facts(void **state)
{
    (void)state;
    buf facts[2] = {BUF_INIT, BUF_INIT};
    static const char *const lists[] = {"pets/cats/1.jpg a\npets/cats/2.jpg b\n",
                                        "pets/cats/1.jpg b\npets/cats/2.jpg a\n"};
    for (int i = 0; i < 2; i++) {
        dataset *d = NULL;
        assert_int_equal(opens_list("pets.txt", lists[i], "{size: 8, range: [0, 1]}", &plain, &d, NULL), OK);
        dataset_facts(d, "train_data_path", FACTS_SAMPLED, &facts[i]);
        dataset_close(&d);
    }
    assert_string_not_equal(facts[0].data, facts[1].data);
    buf_fini(&facts[0]);
    buf_fini(&facts[1]);
}

static void test_refusals(void **state)
{
    (void)state;
    write_to("empty/cats/x.txt", "");
    write_to("empty/cats/y.txt", "");
    copy_to("grey.jpg", "flat/1.jpg");
    expect_refusal("empty", size_8, &plain, E_DATA, "the class 'cats' has no picture");
    expect_refusal("flat", size_8, &plain, E_DATA, "has no folders, one a class");
    expect_refusal("not_there", size_8, &plain, E_DATA, "not_there");
    expect_refusal("pets", "{size: 8, resize: 7}", &plain, E_CONFIG, "dataset_reader.resize: 7 is less than size 8");
    expect_refusal("pets", "{size: [8, 9]}", &plain, E_CONFIG, "[8, 9] is no square; that wants fit: \"stretch\"");
    expect_refusal("pets", "{size: 8, fit: 'stretch', resize: 9}", &plain, E_CONFIG, "resize: is of fit \"crop\"");
    expect_refusal("pets", "{size: 8, mean: [0.5]}", &plain, E_CONFIG, "mean: has 1 numbers; color_mode says 3");
    expect_refusal("pets", "{size: 8, class_names: ['dogs', 'dogs']}", &plain, E_DATA, "stands there twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folders_are_classes),
        cmocka_unit_test(test_pictures_are_dealt),
        cmocka_unit_test(test_numbers_are_normalized_bytes),
        cmocka_unit_test(test_grey_has_one_channel),
        cmocka_unit_test(test_classes_of_training_count),
        cmocka_unit_test(test_without_labels_any_tree_will_do),
        cmocka_unit_test(test_broken_pictures_are_named),
        cmocka_unit_test(test_a_picture_that_is_cut_off_fails_where_it_is_read),
        cmocka_unit_test(test_facts_know_the_pictures),
        cmocka_unit_test(test_lists_of_lines),
        cmocka_unit_test(test_lists_of_cells),
        cmocka_unit_test(test_any_number_of_labels),
        cmocka_unit_test(test_labels_of_lists_are_facts),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, set_up, folder_tear_down);
}
