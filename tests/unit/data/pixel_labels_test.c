/*
 * Labels of pixels, and other images, beside images: what would tear them from their images, or spoil them, is
 * refused by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/pixel_labels.h"
#include "unit/data/support_config.h"

#include <stdlib.h>
#include <string.h>

enum { H = 6, W = 5 };

static const char *const keys[] = {"random_resized_crop", "random_crop", "rand_augment", "trivial_augment_wide",
                                   "flip", "shift", "mixup", "cutmix", "random_erasing", "color_jitter"};
static config *asked[COUNT_OF(keys)];   /* for each alone */

static const data_field image = {.name = "image", .dtype = DT_F32, .rank = 3, .dim = {3, H, W}};
static const data_field clip = {.name = "clip", .dtype = DT_F32, .rank = 4, .dim = {3, 2, H, W}};

/* What of all keys is refused beside such a field, each asked for alone; its message begins with the key. */
static void expect_refused(const data_field *first, const data_field *f, const char *labels, const char *refused)
{
    const data_field fields[] = {*first, *f};
    json_t *names = labels ? json_pack("[s]", labels) : NULL;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        char *begin = xasprintf("dataset_reader.augment.%s: ", keys[i]), *key = xasprintf(" %s ", keys[i]);
        error err = ERROR_INIT;
        status st = pixel_labels_check(config_section(asked[i], "dataset_reader.augment"), names, fields, 2, &err);
        if ((st == E_CONFIG) != (strstr(refused, key) != NULL))
            fail_msg("%s beside '%s': %s", keys[i], f->name, st == OK ? "goes" : err.text);
        if (st != OK && (strncmp(err.text, begin, strlen(begin)) != 0 || !strstr(err.text, f->name)))
            fail_msg("%s", err.text);
        free(begin);
        free(key);
    }
    json_decref(names);
}

/* What is refused beside all labels of pixels. */
#define TEARS " random_resized_crop random_crop rand_augment trivial_augment_wide shift mixup cutmix "

static void test_planes_of_classes_stay_with_their_image(void **state)
{
    (void)state;
    const data_field classes = {.name = "label", .dtype = DT_I64, .rank = 2, .dim = {H, W}, .classes = 3};
    const data_field depth = {.name = "depth", .dtype = DT_F32, .rank = 2, .dim = {H, W}};
    const data_field planes = {.name = "parts", .dtype = DT_BOOL, .rank = 3, .dim = {7, H, W}};
    expect_refused(&image, &classes, NULL, TEARS "flip ");
    expect_refused(&image, &depth, NULL, TEARS "flip ");
    expect_refused(&image, &planes, NULL, TEARS "flip ");
    expect_refused(&clip, &classes, NULL, TEARS "flip ");
}

/* A flip moves these with their image; a label's numbers are no colours. */
static void test_masks_are_mirrored_alone(void **state)
{
    (void)state;
    const data_field masks = {.name = "label", .dtype = DT_F32, .rank = 3, .dim = {4, H, W}};
    data_field named = masks, bytes = masks;
    named.name = "masks";
    bytes.dtype = DT_U8;
    expect_refused(&image, &masks, NULL, TEARS "random_erasing ");
    expect_refused(&image, &named, "masks", TEARS "random_erasing ");
    expect_refused(&image, &bytes, NULL, TEARS "random_erasing color_jitter ");
}

static void test_others_do_not_matter(void **state)
{
    (void)state;
    const data_field label = {.name = "label", .dtype = DT_I64, .classes = 3};
    const data_field boxes = {.name = "boxes", .dtype = DT_F32, .rank = 2, .dim = {H, W + 1}};
    const data_field second = {.name = "second", .dtype = DT_F32, .rank = 3, .dim = {3, H, W}};
    expect_refused(&image, &label, NULL, "");
    expect_refused(&image, &boxes, NULL, "");
    expect_refused(&image, &second, NULL, "");
    assert_int_equal(pixel_labels_check(NULL, NULL, &image, 1, NULL), OK);
}

/* Colours and depths of one place: what moves one of them alone is refused, what changes colours alone is not. */
static void test_images_of_one_size_move_alike(void **state)
{
    (void)state;
    const data_field colours = {.name = "colours", .dtype = DT_U8, .rank = 3, .dim = {3, H, W}};
    const data_field depths = {.name = "depths", .dtype = DT_F32, .rank = 3, .dim = {1, H, W}};
    data_field of_file = colours, grey = colours, smaller = depths;
    of_file.is_viewed = true;
    grey.name = "grey";
    grey.dim[0] = 1;
    smaller.dim[2] = W - 1;
    expect_refused(&colours, &depths, NULL, " rand_augment trivial_augment_wide ");
    expect_refused(&depths, &colours, NULL, " rand_augment trivial_augment_wide ");
    expect_refused(&colours, &clip, NULL, " rand_augment trivial_augment_wide ");
    expect_refused(&of_file, &depths, NULL, " random_resized_crop random_crop rand_augment trivial_augment_wide ");
    expect_refused(&of_file, &grey, NULL, " random_resized_crop random_crop ");
    expect_refused(&colours, &grey, NULL, "");
    expect_refused(&colours, &smaller, NULL, "");
}

static void test_message_of_images(void **state)
{
    (void)state;
    const data_field colours = {.name = "colours", .dtype = DT_U8, .rank = 3, .dim = {3, H, W}};
    const data_field depths = {.name = "depths", .dtype = DT_F32, .rank = 3, .dim = {1, H, W}};
    config *c = test_config("{type: 'arrays', augment: {rand_augment: {}}}");
    error err = ERROR_INIT;
    assert_int_equal(pixel_labels_check(config_section(c, "dataset_reader.augment"), NULL,
                                        (data_field[]){colours, depths}, 2, &err), E_CONFIG);
    assert_string_equal(err.text, "dataset_reader.augment.rand_augment: would not move 'depths' and 'colours', images "
                                  "of the same 6 x 5 pixels, alike, for it is of pictures in bytes with 1 or 3 "
                                  "channels; leave it out, or augment both where the data are made");
    config_destroy(&c);
}

static void test_messages(void **state)
{
    (void)state;
    const data_field classes = {.name = "label", .dtype = DT_I64, .rank = 2, .dim = {H, W}};
    const data_field masks = {.name = "label", .dtype = DT_F32, .rank = 3, .dim = {4, H, W}};
    config *c = test_config("{type: 'arrays', augment: {shift: 1}}");
    const config *section = config_section(c, "dataset_reader.augment");
    error err = ERROR_INIT;
    assert_int_equal(pixel_labels_check(section, NULL, (data_field[]){image, classes}, 2, &err), E_CONFIG);
    assert_string_equal(err.text, "dataset_reader.augment.shift: would change 'image', and leave 'label', which says "
                                  "something of its 6 x 5 pixels, as it is; leave it out, or augment both where the "
                                  "data are made");
    error_clear(&err);
    assert_int_equal(pixel_labels_check(section, NULL, (data_field[]){image, masks}, 2, &err), E_CONFIG);
    assert_string_equal(err.text, "dataset_reader.augment.shift: 'label' is a label of the 6 x 5 pixels of 'image', "
                                  "and would no longer fit; of such data flip alone changes both alike");
    config_destroy(&c);
}

static int ask(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *value = strcmp(keys[i], "flip") == 0 ? "true" : strcmp(keys[i], "shift") == 0 ? "2" : "{}";
        char *text = xasprintf("{type: 'image_folder', size: 8, augment: {%s: %s}}", keys[i], value);
        asked[i] = test_config(text);
        free(text);
    }
    return 0;
}

static int forget(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        config_destroy(&asked[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planes_of_classes_stay_with_their_image),
        cmocka_unit_test(test_masks_are_mirrored_alone),
        cmocka_unit_test(test_others_do_not_matter),
        cmocka_unit_test(test_images_of_one_size_move_alike),
        cmocka_unit_test(test_message_of_images),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, ask, forget);
}
