/* Videos as files: their frames are those that ffmpeg decodes (tests/golden/make_videos.py), wherever decoding begins;
 * lists of them, damage, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "data/videos/video_index.h"
#include "support/folder.h"
#include "unit/data/support_cache.h"
#include "unit/data/support_records.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 32, PLANE = SIDE * SIDE, T = 4, VALUES = 3 * T * PLANE, FRAMES = 24, SCENE_FRAMES = 36, HALF = 32 };

static const dataset_options plain = {.vocabulary = NULL};
static const dataset_options unlabelled = {.without_labels = true};

static void read_golden(const char *name, buf *ret)
{
    char *path = xasprintf("%s/videos/%s", TEST_DATA_DIR, name);
    assert_int_equal(fs_read(path, 1 << 20, ret, NULL), OK);
    free(path);
}

static void write_bytes(const char *name, const char *data, size_t n)
{
    char *path = folder_file("%s", name), *folder = fs_parent(path);
    assert_int_equal(fs_mkdirs(folder, NULL), OK);
    assert_int_equal(fs_write_atomic(path, data, n, NULL), OK);
    free(folder);
    free(path);
}

static void copy_golden(const char *name, const char *to)
{
    buf file = BUF_INIT;
    read_golden(name, &file);
    write_bytes(to, file.data, file.size);
    buf_fini(&file);
}

static int set_up(void **state)
{
    if (folder_set_up(state) != 0)
        return -1;
    copy_golden("numbers.mp4", "films/count/up.mp4");
    copy_golden("scene.mp4", "films/scene/deep/one.MP4");
    copy_golden("scene.webm", "films/scene/two.webm");
    write_bytes("films/scene/notes.txt", "none", 4);
    return 0;
}

static status try_open(const char *type, const char *name, const char *reader, const dataset_options *how,
                       dataset **ret, error *err)
{
    char *path = folder_file("%s", name);
    char *whole = xasprintf("{video_is: 'file', %s}", reader);
    status st = records_open_path(type, whole, path, how, ret, err);
    free(whole);
    free(path);
    return st;
}

static dataset *open_videos(const char *type, const char *name, const char *reader, const dataset_options *how)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (try_open(type, name, reader, how, &d, &err) != OK)
        fail_msg("%s", err.text);
    return d;
}

static void refuses(const char *type, const char *name, const char *reader, status code, const char *part)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_int_equal(try_open(type, name, reader, &plain, &d, &err), code);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, err.text);
}

/* --- which frames --- */

static bool is_near(int x, int y)
{
    return x - y <= 2 && y - x <= 2;
}

/* The numbers of the frames of a clip of numbers.mp4, by the colours it was made of. */
static void expect_clip(const unsigned char *bytes, const int *numbers)
{
    for (int t = 0; t < T; t++)
        for (int i = 0; i < PLANE; i++) {
            const int n = numbers[t], colour[] = {20 + 8 * n, 235 - 8 * n, 10 + 4 * n};
            for (int c = 0; c < 3; c++)
                if (!is_near(bytes[(c * T + t) * PLANE + i], colour[c]))
                    fail_msg("frame %d of the clip is not number %d", t, n);
        }
}

static void test_the_middle(void **state)
{
    (void)state;
    static const struct {
        const char *reader;
        int numbers[T];
    } cases[] = {
        {"size: 32, frames: 4", {10, 11, 12, 13}},
        {"size: 32, frames: 4, frame_stride: 7", {1, 8, 15, 22}},
        {"size: 32, frames: 4, frame_stride: 9", {0, 9, 18, 23}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        dataset *d = open_videos("video_folder", "films", cases[i].reader, &plain);
        unsigned char bytes[VALUES];
        int64_t label = -1;
        buf text = BUF_INIT;
        assert_int_equal(dataset_examples(d), 3); /* dealt: the first of scene, the only one of count, scene */
        assert_int_equal(dataset_read_bytes(d, 1, (void *[]){bytes, &label}, NULL), OK);
        expect_clip(bytes, cases[i].numbers);
        assert_true(dataset_example_name(d, 1, &text));
        assert_string_equal(text.data, "count/up.mp4");
        assert_int_equal(label, 0);
        buf_fini(&text);
        dataset_close(&d);
    }
}

/* In training a clip begins where the batch's number says, anywhere in the video. */
static void test_clips_are_drawn(void **state)
{
    (void)state;
    dataset *d = open_videos("video_folder", "films/count/up.mp4", "size: 32, frames: 4, augment: {}", &unlabelled);
    bool seen[FRAMES - T + 1] = {false};
    int n_seen = 0;
    for (uint64_t batch = 0; batch < 40; batch++) {
        unsigned char bytes[VALUES];
        picture_draws draws = {rng_make(5, RNG_PICTURE, batch), 3};
        assert_int_equal(dataset_read_drawn(d, 0, &draws, true, (void *[]){bytes}, NULL), OK);
        int first = (bytes[0] - 20 + 4) / 8;
        assert_in_range(first, 0, FRAMES - T);
        expect_clip(bytes, (int[]){first, first + 1, first + 2, first + 3});
        n_seen += !seen[first];
        seen[first] = true;
    }
    assert_in_range(n_seen, 12, FRAMES - T + 1);
    dataset_close(&d);
}

/* --- which pixels --- */

static void hash_picture(const picture *p, char ret[HALF + 1])
{
    sha256 h = {.context = NULL};
    char hex[SHA256_HEX];
    sha256_begin(&h);
    sha256_add(&h, p->pixels, (size_t)p->width * (size_t)p->height * (size_t)p->channels);
    sha256_end(&h, hex);
    memcpy(ret, hex, HALF);
    ret[HALF] = '\0';
}

/* The half of the SHA-256 of a frame of a golden file. */
static void find_golden(const char *golden, const char *name, int frame, char ret[HALF + 1])
{
    const char *line = strstr(golden, name);
    assert_non_null(line);
    for (int i = 0; i < frame; i++)
        line = strchr(line, '\n') + 1;
    assert_memory_equal(line, name, strlen(name));
    memcpy(ret, line + strlen(name) + 1, HALF);
    ret[HALF] = '\0';
}

static void expect_frame(video_reading *r, const char *golden, const char *name, int number)
{
    char got[HALF + 1], want[HALF + 1];
    picture p;
    error err = ERROR_INIT;
    if (video_reading_take(r, number, true, &p, &err) != OK)
        fail_msg("%s: %s", name, err.text);
    hash_picture(&p, got);
    picture_fini(&p);
    find_golden(golden, name, number, want);
    if (strcmp(got, want) != 0)
        fail_msg("%s: frame %d is another one than ffmpeg's", name, number);
}

/* All in a row, and each of some by itself, for which decoding begins in the middle. */
static void test_frames_are_ffmpegs(void **state)
{
    (void)state;
    static const char *const names[] = {"scene.mp4", "turned.mov", "scene.webm", "scene.avi", "scene.mkv"};
    buf golden = BUF_INIT;
    read_golden("frames.txt", &golden);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *path = xasprintf("%s/videos/%s", TEST_DATA_DIR, names[i]);
        picture_set s;
        video_index x;
        video_reading r;
        error err = ERROR_INIT;
        assert_int_equal(picture_set_of_files(path, &kind_of_videos, NULL, &s, NULL), OK);
        if (video_index_open(&s, false, &x, &err) != OK)
            fail_msg("%s", err.text);
        assert_int_equal(x.videos[0].frames, SCENE_FRAMES);
        video_reading_begin(&x, 0, path, &r);
        for (int n = 0; n < SCENE_FRAMES; n++)
            expect_frame(&r, golden.data, names[i], n);
        video_reading_end(&r);
        for (int n = 0; n < SCENE_FRAMES; n += 5) {
            video_reading_begin(&x, 0, path, &r);
            expect_frame(&r, golden.data, names[i], n);
            video_reading_end(&r);
        }
        video_index_close(&x);
        picture_set_fini(&s);
        free(path);
    }
    buf_fini(&golden);
}

/* --- lists --- */

static void test_lists(void **state)
{
    (void)state;
    static const char lines[] = "films/count/up.mp4 b\nfilms/scene/two.webm a\n";
    static const char cells[] = "tags,file\nx;y,films/count/up.mp4\n,films/scene/two.webm\n";
    write_bytes("list.txt", lines, sizeof lines - 1);
    write_bytes("list.csv", cells, sizeof cells - 1);
    dataset *d = open_videos("video_list", "list.txt", "size: 32, frames: 4", &plain);
    unsigned char bytes[VALUES];
    int64_t label = -1;
    buf word = BUF_INIT;
    assert_int_equal(dataset_examples(d), 2);
    assert_int_equal(dataset_read_bytes(d, 1, (void *[]){bytes, &label}, NULL), OK);
    assert_true(dataset_label_word(d, label, &word));
    assert_string_equal(word.data, "b");
    expect_clip(bytes, (int[]){10, 11, 12, 13});
    buf_fini(&word);
    dataset_close(&d);

    float shares[2] = {-1, -1};
    d = open_videos("video_list", "list.csv",
                    "size: 32, frames: 4, separator: ',', path: 'file', label: 'tags', label_is: 'labels', "
                    "label_separator: ';'", &plain);
    assert_int_equal(dataset_read_bytes(d, 0, (void *[]){bytes, shares}, NULL), OK);
    expect_clip(bytes, (int[]){10, 11, 12, 13});
    assert_true(shares[0] == 1.0f && shares[1] == 1.0f);
    dataset_close(&d);
}

/* --- damage --- */

static void test_damaged_ones_are_named(void **state)
{
    (void)state;
    static const char *const names[] = {"scene.mp4", "scene.webm", "scene.avi", "scene.mkv"};
    copy_golden("numbers.mp4", "damaged/a/good.mp4");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        buf file = BUF_INIT;
        read_golden(names[i], &file);
        char *name = xasprintf("damaged/b/%s", names[i]);
        write_bytes(name, file.data, file.size * 2 / 3);
        refuses("video_folder", "damaged", "size: 32, frames: 4", E_DATA, name + strlen("damaged/"));
        write_bytes(name, file.data, file.size);
        dataset *d = open_videos("video_folder", "damaged", "size: 32, frames: 4", &plain);
        dataset_close(&d);
        free(name);
        buf_fini(&file);
    }
    write_bytes("damaged/b/page.mp4", "<html>not found</html>", 22);
    write_bytes("damaged/b/empty.mkv", "", 0);
    refuses("video_folder", "damaged", "size: 32, frames: 4", E_DATA,
            "2 of 7 videos cannot be read (with on_error: \"skip\" they are left out): 'b/empty.mkv': is empty; "
            "'b/page.mp4': is no MP4, QuickTime, Matroska, WebM or AVI");
    for (int again = 0; again < 2; again++) {
        dataset *d = open_videos("video_folder", "damaged", "size: 32, frames: 4, on_error: 'skip'", &plain);
        assert_int_equal(dataset_examples(d), 5);
        dataset_close(&d);
    }
}

/* Bytes of heads and of frames are changed: there is a message, or a clip. */
static void test_changed_bytes(void **state)
{
    (void)state;
    static const char *const names[] = {"scene.mp4", "scene.webm", "scene.avi"};
    rng draws = rng_make(7, RNG_PICTURE, 1);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *name = xasprintf("changed/%s", names[i]);
        for (int round = 0; round < 6; round++) {
            buf file = BUF_INIT;
            dataset *d = NULL;
            error err = ERROR_INIT;
            unsigned char *clip = xmalloc(VALUES);
            read_golden(names[i], &file);
            for (uint64_t k = 0; k < 4; k++) {
                uint64_t at = rng_below(&draws, (uint64_t)round * 8 + k, round % 2 ? file.size : 1024);
                file.data[at] = (char)(file.data[at] ^ (1 << (at % 8)));
            }
            write_bytes(name, file.data, file.size);
            status st = try_open("video_folder", name, "size: 32, frames: 4", &unlabelled, &d, &err);
            if (st == OK) {
                st = dataset_read_bytes(d, 0, (void *[]){clip}, &err);
                dataset_close(&d);
            }
            assert_true(st == OK || (st == E_DATA && strstr(err.text, names[i])));
            free(clip);
            buf_fini(&file);
        }
        free(name);
    }
}

/* What is found is kept, for the very files that it was found in. */
static void test_what_is_kept(void **state)
{
    static const char free_box[] = {0, 0x20, 0, 0, 'f', 'r', 'e', 'e'}; /* so many bytes that mean nothing */
    buf file = BUF_INIT;
    read_golden("scene.mp4", &file);
    buf_add(&file, free_box, sizeof free_box);
    buf_reserve(&file, 2 << 20);
    memset(file.data + file.size, 0, (2 << 20) - sizeof free_box);
    write_bytes("kept/one.mp4", file.data, file.size + (2 << 20) - sizeof free_box);
    buf_fini(&file);
    char *path = folder_file("kept"), *kept = NULL;
    for (int round = 0; round < 4; round++) {
        picture_set s;
        video_index x;
        if (round == 2)
            cache_damage(kept, 20, false);
        assert_int_equal(picture_set_of_files(path, &kind_of_videos, NULL, &s, NULL), OK);
        assert_int_equal(video_index_open(&s, false, &x, NULL), OK);
        assert_int_equal(x.videos[0].frames, SCENE_FRAMES);
        assert_int_equal(x.arrays.is_new, round % 2 == 0);
        video_index_close(&x);
        picture_set_fini(&s);
        free(kept);
        kept = cache_kept_file(*state, ".videos");
    }
    free(kept);
    free(path);
}

static void expect_decoded(const char *path, size_t videos, size_t decoded)
{
    picture_set s;
    video_index x;
    assert_int_equal(picture_set_of_files(path, &kind_of_videos, NULL, &s, NULL), OK);
    assert_int_equal(s.n, videos);
    assert_int_equal(video_index_look(&s, &x, NULL), OK);
    assert_int_equal(x.n_decoded, decoded);
    for (size_t i = 0; i < s.n; i++) {
        bool is_broken = strstr(s.at[i].path, "cut") != NULL, is_count = strstr(s.at[i].path, "up") != NULL;
        size_t bytes;
        assert_int_equal(x.videos[i].frames, is_broken ? 0 : is_count ? FRAMES : SCENE_FRAMES);
        assert_true(video_index_why(&x, i, &bytes) && (bytes > 0) == is_broken);
    }
    video_index_close(&x);
    picture_set_fini(&s);
}

/* Of what is kept the files are taken that have not changed, also where others came or went. */
static void test_only_new_files_are_decoded(void **state)
{
    (void)state;
    buf large = BUF_INIT;
    char *path = folder_file("some"), *gone = folder_file("some/b.mp4");
    read_golden("scene.mp4", &large);
    buf_reserve(&large, 2 << 20);
    memset(large.data + large.size, 0, 2 << 20);
    memcpy(large.data + large.size, (const char[]){0, 0x20, 0, 0, 'f', 'r', 'e', 'e'}, 8);
    write_bytes("some/a.mp4", large.data, large.size + (2 << 20)); /* what is small is not kept */
    copy_golden("scene.webm", "some/b.mp4");
    write_bytes("some/cut.mp4", "<html>", 6);
    expect_decoded(path, 3, 3);
    expect_decoded(path, 3, 0);
    copy_golden("scene.avi", "some/b.mp4");         /* another one */
    expect_decoded(path, 3, 1);
    copy_golden("numbers.mp4", "some/0/up.mp4");    /* one more, before them */
    expect_decoded(path, 4, 1);
    assert_int_equal(unlink(gone), 0);
    expect_decoded(path, 3, 0);
    expect_decoded(path, 3, 0);
    char *kept = cache_kept_file(*state, ".videos");
    cache_damage(kept, 20, false);
    copy_golden("scene.webm", "some/b.mp4");
    expect_decoded(path, 4, 4);
    free(kept);
    free(gone);
    free(path);
    buf_fini(&large);
}

/* The file that is read is the one that was looked through, or it is said. */
static void test_another_file(void **state)
{
    (void)state;
    copy_golden("scene.mp4", "moved/one.mp4");
    dataset *d = open_videos("video_folder", "moved", "size: 32, frames: 4", &unlabelled);
    copy_golden("numbers.mp4", "moved/one.mp4");
    unsigned char bytes[VALUES];
    error err = ERROR_INIT;
    assert_int_equal(dataset_read_bytes(d, 0, (void *[]){bytes}, &err), E_DATA);
    assert_non_null(strstr(err.text, "one.mp4': frame 16 is another one than when the file was looked through"));
    dataset_close(&d);
}

static void test_refusals(void **state)
{
    (void)state;
    write_bytes("none/a/x.txt", "x", 1);
    write_bytes("missing.txt", "films/gone.mp4 a\n", 17);
    refuses("video_folder", "none", "size: 32, frames: 4", E_DATA, "no file there ends with .mp4, .m4v, .mov, .mkv");
    refuses("video_list", "missing.txt", "size: 32, frames: 4", E_DATA, "'films/gone.mp4': open it: No such file");

    dataset *d = NULL;
    error err = ERROR_INIT;
    char *path = folder_file("films");
    assert_int_equal(records_open_path("video_folder", "{size: 32, frames: 4}", path, &plain, &d, &err), E_DATA);
    assert_non_null(strstr(err.text, "or with video_is: \"file\" a file"));
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_middle),
        cmocka_unit_test(test_clips_are_drawn),
        cmocka_unit_test(test_frames_are_ffmpegs),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_damaged_ones_are_named),
        cmocka_unit_test(test_changed_bytes),
        cmocka_unit_test_setup_teardown(test_what_is_kept, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_only_new_files_are_decoded, cache_fresh, cache_drop),
        cmocka_unit_test(test_another_file),
        cmocka_unit_test(test_refusals),
    };
    error err = ERROR_INIT;
    if (video_library_open(&err) != OK) {
        print_message("skipped: %s\n", err.text);
        return 77;
    }
    return cmocka_run_group_tests(tests, set_up, folder_tear_down);
}
