/* Videos as folders of frames: which frames make a clip, in which order, both layouts, draws, and refusals. A frame is
 * of one colour, which tells its number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/augment.h"
#include "data/png.h"
#include "support/folder.h"
#include "unit/data/support_config.h"
#include "unit/data/support_records.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 4, PLANE = SIDE * SIDE, T = 4, VALUES = 3 * T * PLANE };

static const dataset_options plain = {.vocabulary = NULL};

/* Red is the frame's number, green twice and blue three times that. */
static void write_frame(const char *name, int number)
{
    unsigned char pixels[PLANE][3];
    char *path = folder_file("%s", name), *folder = fs_parent(path);
    for (int i = 0; i < PLANE; i++)
        for (int c = 0; c < 3; c++)
            pixels[i][c] = (unsigned char)(number * (c + 1));
    assert_int_equal(fs_mkdirs(folder, NULL), OK);
    assert_int_equal(
        png_write(path, &(png_image){.width = SIDE, .height = SIDE, .pixels = pixels[0]}, NULL), OK);
    free(folder);
    free(path);
}

/* Frames 1 to n, whose numbers have no leading zeros. */
static void write_video(const char *folder, int n)
{
    for (int i = 1; i <= n; i++) {
        char *name = xasprintf("%s/frame%d.png", folder, i);
        write_frame(name, i);
        free(name);
    }
}

static dataset *open_videos(const char *name, const char *reader, const dataset_options *how)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    char *path = folder_file("%s", name);
    if (records_open_path("video_folder", reader, path, how, &d, &err) != OK)
        fail_msg("%s", err.text);
    free(path);
    return d;
}

static int set_up(void **state)
{
    if (folder_set_up(state) != 0)
        return -1;
    write_video("films/run/long", 12);
    write_video("films/run/more/short", 2);
    write_video("films/jump/other", 7);
    return 0;
}

/* The numbers of the frames of a clip, channels first, and that all its pixels are theirs. */
static void expect_clip(const unsigned char *bytes, const int *numbers)
{
    for (int c = 0; c < 3; c++)
        for (int t = 0; t < T; t++)
            for (int i = 0; i < PLANE; i++)
                assert_int_equal(bytes[(c * T + t) * PLANE + i], numbers[t] * (c + 1));
}

static void expect_example(const dataset *d, int64_t i, const char *name, const char *word, const int *numbers)
{
    unsigned char bytes[VALUES];
    int64_t label = -1;
    buf text = BUF_INIT;
    assert_int_equal(dataset_read_bytes(d, i, (void *[]){bytes, &label}, NULL), OK);
    expect_clip(bytes, numbers);
    assert_true(dataset_example_name(d, i, &text));
    assert_string_equal(text.data, name);
    buf_clear(&text);
    assert_true(dataset_label_word(d, label, &text));
    assert_string_equal(text.data, word);
    buf_fini(&text);
}

/* Numbers in names count by their value, and a video that is too short ends with its last frame. */
static void test_the_middle(void **state)
{
    (void)state;
    dataset *d = open_videos("films", "{size: 4, frames: 4}", &plain);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 2);
    assert_string_equal(f[0].name, "video");
    assert_int_equal(f[0].rank, 4);
    assert_memory_equal(f[0].dim, ((int64_t[]){3, T, SIDE, SIDE}), 4 * sizeof(int64_t));
    assert_int_equal(f[1].classes, 2);
    assert_int_equal(dataset_examples(d), 3);
    expect_example(d, 0, "run/long", "run", (int[]){5, 6, 7, 8}); /* dealt: half of run, all of jump, run */
    expect_example(d, 1, "jump/other", "jump", (int[]){2, 3, 4, 5});
    expect_example(d, 2, "run/more/short", "run", (int[]){1, 2, 2, 2});
    dataset_close(&d);

    d = open_videos("films", "{size: 4, frames: 4, frame_stride: 3}", &plain);
    expect_example(d, 0, "run/long", "run", (int[]){2, 5, 8, 11});
    expect_example(d, 1, "jump/other", "jump", (int[]){1, 4, 7, 7});
    dataset_close(&d);
}

static void test_layouts(void **state)
{
    (void)state;
    const char *const readers[] = {
        "{size: 4, frames: 4, mean: [0.1, 0.2, 0.3], std: [0.5, 0.25, 2]}",
        "{size: 4, frames: 4, mean: [0.1, 0.2, 0.3], std: [0.5, 0.25, 2], layout: 'frames_first'}"};
    float videos[2][VALUES], as_bytes[VALUES];
    int64_t label;
    for (int k = 0; k < 2; k++) {
        dataset *d = open_videos("films", readers[k], &plain);
        size_t n;
        const data_field *f = dataset_fields(d, &n);
        assert_int_equal(f[0].dim[k], 3);
        assert_int_equal(f[0].dim[1 - k], T);
        assert_int_equal(f[0].bytes.channels, k ? 0 : 3); /* else its bytes stay numbers */
        assert_int_equal(dataset_read(d, 0, (void *[]){videos[k], &label}, NULL), OK);
        if (k) {
            assert_int_equal(dataset_read_bytes(d, 0, (void *[]){as_bytes, &label}, NULL), OK);
            assert_memory_equal(as_bytes, videos[k], sizeof as_bytes);
        }
        dataset_close(&d);
    }
    const double mean[] = {0.1, 0.2, 0.3}, std[] = {0.5, 0.25, 2};
    for (int c = 0; c < 3; c++)
        for (int t = 0; t < T; t++) {
            double want = ((5 + t) * (c + 1) / 255.0 - mean[c]) / std[c];
            assert_true(videos[0][(c * T + t) * PLANE] - want < 1e-6 && want - videos[0][(c * T + t) * PLANE] < 1e-6);
            assert_true(videos[0][(c * T + t) * PLANE + 7] == videos[1][(t * 3 + c) * PLANE + 7]);
        }
}

/* In training a clip begins where the batch's number says, anywhere in the video. */
static void test_clips_are_drawn(void **state)
{
    (void)state;
    dataset *d = open_videos("films", "{size: 4, frames: 4, augment: {}}", &plain);
    bool seen[9] = {false};
    for (uint64_t batch = 0; batch < 100; batch++) {
        unsigned char bytes[VALUES], again[VALUES];
        int64_t label;
        picture_draws draws = {rng_make(5, RNG_PICTURE, batch), 3};
        assert_int_equal(dataset_read_drawn(d, 0, &draws, true, (void *[]){bytes, &label}, NULL), OK);
        int first = bytes[0];
        assert_in_range(first, 1, 9);
        expect_clip(bytes, (int[]){first, first + 1, first + 2, first + 3});
        seen[first - 1] = true;
        assert_int_equal(dataset_read_drawn(d, 0, &draws, true, (void *[]){again, &label}, NULL), OK);
        assert_memory_equal(bytes, again, sizeof bytes);
    }
    for (int i = 0; i < 9; i++)
        assert_true(seen[i]);
    dataset_close(&d);

    d = open_videos("films", "{size: 4, frames: 4, augment: {random_clip: false}}", &plain);
    unsigned char bytes[VALUES];
    int64_t label;
    picture_draws draws = {rng_make(5, RNG_PICTURE, 1), 3};
    assert_int_equal(dataset_read_drawn(d, 0, &draws, true, (void *[]){bytes, &label}, NULL), OK);
    expect_clip(bytes, (int[]){5, 6, 7, 8});
    dataset_close(&d);
}

/* Without labels a video may lie anywhere, also right in the folder. */
static void test_without_labels(void **state)
{
    (void)state;
    static const dataset_options unlabelled = {.without_labels = true};
    dataset *d = open_videos("films/run/long", "{size: 4, frames: 4}", &unlabelled);
    unsigned char bytes[VALUES];
    buf name = BUF_INIT;
    assert_int_equal(dataset_examples(d), 1);
    assert_int_equal(dataset_read_bytes(d, 0, (void *[]){bytes}, NULL), OK);
    expect_clip(bytes, (int[]){5, 6, 7, 8});
    assert_true(dataset_example_name(d, 0, &name));
    assert_string_equal(name.data, ".");
    buf_fini(&name);
    dataset_close(&d);
    d = open_videos("films", "{size: 4, frames: 4}", &unlabelled);
    assert_int_equal(dataset_examples(d), 3);
    dataset_close(&d);
}

/* A list names folders, in its order and with its classes. */
static void test_lists(void **state)
{
    (void)state;
    static const char lines[] = "films/run/long b\nfilms/jump/other a,b\nfilms/run/long a\n";
    static const char missing[] = "films/run b\n";
    char *path = folder_file("list.txt"), *other = folder_file("other.txt");
    dataset *d = NULL;
    error err = ERROR_INIT;
    unsigned char bytes[VALUES];
    float shares[2];
    assert_int_equal(fs_write_atomic(path, lines, sizeof lines - 1, NULL), OK);
    assert_int_equal(fs_write_atomic(other, missing, sizeof missing - 1, NULL), OK);
    const char *reader = "{size: 4, frames: 4, label_is: 'labels'}";
    assert_int_equal(records_open_path("video_list", reader, path, &plain, &d, NULL), OK);
    static const int numbers[3][T] = {{5, 6, 7, 8}, {2, 3, 4, 5}, {5, 6, 7, 8}};
    static const float classes[3][2] = {{0, 1}, {1, 1}, {1, 0}};
    assert_int_equal(dataset_examples(d), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(dataset_read_bytes(d, i, (void *[]){bytes, shares}, NULL), OK);
        expect_clip(bytes, numbers[i]);
        assert_memory_equal(shares, classes[i], sizeof shares);
    }
    dataset_close(&d);
    assert_int_equal(records_open_path("video_list", "{size: 4, frames: 4}", other, &plain, &d, &err), E_DATA);
    assert_non_null(strstr(err.text, "the video 'films/run' is a folder without pictures"));
    free(path);
    free(other);
}

/* All frames are mirrored and moved alike. */
static void test_flips(void **state)
{
    (void)state;
    config *c = test_config("{augment: {flip: true}}");
    augment a = augment_read(config_section(c, "dataset_reader.augment"));
    const data_field f = {.name = "video", .dtype = DT_F32, .rank = 4, .dim = {2, 2, 1, 3}};
    const float in[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, mirrored[] = {3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10};
    rng draws = rng_make(1, RNG_AUGMENT, 1);
    int n_mirrored = 0;
    assert_int_equal(augment_check(config_section(c, "dataset_reader.augment"), &f, 1, NULL), OK);
    for (int64_t i = 0; i < 32; i++) {
        float out[12];
        augment_apply(&a, &draws, i, &f, in, out);
        bool is_mirrored = memcmp(out, mirrored, sizeof out) == 0;
        assert_true(is_mirrored || memcmp(out, in, sizeof out) == 0);
        n_mirrored += is_mirrored;
    }
    assert_in_range(n_mirrored, 4, 28);
    config_destroy(&c);
}

/* One batch of all videos by a loader, as training has it. */
static const data_batch *load(const dataset *d, const config *section, loader **ret)
{
    const data_batch *batch = NULL;
    const step_slot slot = {.n = 3};
    error err = ERROR_INIT;
    const loader_options o = {.dataset = d, .batch_size = 3, .depth = 2, .augment = section};
    if (loader_create(&o, ret, &err) != OK || loader_take(*ret, &slot, &batch, &err) != OK)
        fail_msg("%s", err.text);
    return batch;
}

/* The same window of every frame, in both layouts. */
static void test_windows(void **state)
{
    (void)state;
    static const char *const layouts[] = {"channels_first", "frames_first"};
    config *c = test_config("{augment: {random_crop: {padding: 3, fill: 255}}}");
    for (int k = 0; k < 2; k++) {
        char *reader = xasprintf("{size: 4, frames: 4, layout: '%s', augment: {random_crop: {padding: 3, fill: 255}}}",
                                 layouts[k]);
        dataset *d = open_videos("films", reader, &plain);
        loader *l = NULL;
        const data_batch *batch = load(d, config_section(c, "dataset_reader.augment"), &l);
        const float *video = batch->data[0];
        int filled = 0;
        for (int example = 0; example < 3; example++, video += VALUES)
            for (int i = 0; i < VALUES; i++) {
                bool is_fill = video[i] == 1.0f; /* frames are darker */
                assert_true(is_fill == (video[i % PLANE] == 1.0f));
                filled += is_fill;
            }
        assert_in_range(filled, 1, 3 * VALUES - 1);
        loader_release(l, batch);
        loader_destroy(&l);
        dataset_close(&d);
        free(reader);
    }
    config_destroy(&c);
}

static void refuses(const char *name, const char *reader, status code, const char *part)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    char *path = folder_file("%s", name);
    assert_int_equal(records_open_path("video_folder", reader, path, &plain, &d, &err), code);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, err.text);
    free(path);
}

static void test_refusals(void **state)
{
    (void)state;
    write_video("flat/run", 2);
    write_video("mixed/run/1", 2);
    write_frame("mixed/run/stray.png", 1);
    refuses("flat", "{size: 4, frames: 2}", E_DATA, "lies in the folder of its class; expected a folder for each");
    refuses("mixed", "{size: 4, frames: 2}", E_DATA, "run/stray.png': lies in the folder of its class");
    refuses("films", "{size: 4, frames: 2, on_error: 'skip'}", E_CONFIG, "\"skip\" is of videos that are files");
    refuses("films/run/long", "{size: 4, frames: 2}", E_DATA, "a video is a folder of frames");
    refuses("films", "{size: 4096, frames: 4096}", E_CONFIG, "frames: a clip of 4096 frames has more than");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_middle),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_clips_are_drawn),
        cmocka_unit_test(test_without_labels),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_flips),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, set_up, folder_tear_down);
}
