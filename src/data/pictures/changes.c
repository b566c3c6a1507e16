/* See changes.h. */
#include "data/pictures/changes.h"

#include "common/base/detmath.h"
#include "data/pictures/jitter.h"

enum { TRIES = 10, DRAWS_A_TRY = 4 };

/* --- what the configuration says --- */

static changes_range range_of(const config *section, const char *key)
{
    const json_t *list = config_json(section, key);
    return (changes_range){json_number_value(json_array_get(list, 0)), json_number_value(json_array_get(list, 1))};
}

/* A number x stands for factors from 1 - x, at least 0, to 1 + x. */
static changes_range around_one(const config *section, const char *key)
{
    double x = config_f64(section, key);
    return (changes_range){x < 1.0 ? 1.0 - x : 0.0, 1.0 + x};
}

picture_changes picture_changes_read(const config *section)
{
    picture_changes c = {.crops = section && config_has(section, "random_resized_crop"),
                         .pads = section && config_has(section, "random_crop"),
                         .jitters = section && config_has(section, "color_jitter"),
                         .erases = section && config_has(section, "random_erasing"),
                         .policy = picture_policy_read(section)};
    if (c.crops) {
        const config *crop = config_section(section, "random_resized_crop");
        c.crop = (changes_part){range_of(crop, "scale"), range_of(crop, "ratio")};
    }
    if (c.pads) {
        const config *crop = config_section(section, "random_crop");
        c.padding = (int32_t)config_int(crop, "padding");
        c.fill = (unsigned char)config_int(crop, "fill");
    }
    if (c.jitters) {
        const config *jitter = config_section(section, "color_jitter");
        c.brightness = around_one(jitter, "brightness");
        c.contrast = around_one(jitter, "contrast");
        c.saturation = around_one(jitter, "saturation");
        c.hue = (changes_range){-config_f64(jitter, "hue"), config_f64(jitter, "hue")};
    }
    if (c.erases) {
        const config *erasing = config_section(section, "random_erasing");
        c.erased = (changes_part){range_of(erasing, "scale"), range_of(erasing, "ratio")};
        c.chance = config_f64(erasing, "p");
    }
    return c;
}

/* --- drawing --- */

static double within(const picture_draws *d, int draw, changes_range range)
{
    return picture_draw_between(d, draw, range.low, range.high);
}

/* Python's round: halves go to the even number. x >= 0 */
static int32_t rounded(double x)
{
    int32_t whole = (int32_t)x;
    double rest = x - whole;
    return whole + (rest > 0.5 || (rest == 0.5 && whole % 2));
}

/* As torchvision's get_params draw it, from draw `first` on. False: ten of them did not fit. */
static bool draw_part(const picture_draws *d, int first, changes_part part, int32_t width, int32_t height,
                      picture_box *ret)
{
    double area = (double)width * height;
    changes_range logs = {det_log(part.ratio.low), det_log(part.ratio.high)};
    for (int i = 0; i < TRIES; i++, first += DRAWS_A_TRY) {
        double wanted = area * within(d, first, part.scale), sides = det_exp(within(d, first + 1, logs));
        int32_t w = rounded(det_sqrt(wanted * sides)), h = rounded(det_sqrt(wanted / sides));
        if (w < 1 || h < 1 || w > width || h > height)
            continue;
        *ret = (picture_box){picture_draw_below(d, first + 3, width - w + 1),
                             picture_draw_below(d, first + 2, height - h + 1), w, h};
        return true;
    }
    return false;
}

/* The middle, in the nearest proportion that is asked for. */
static picture_box middle(changes_range ratio, int32_t width, int32_t height)
{
    picture_box b = {0, 0, width, height};
    double sides = (double)width / height;
    if (sides < ratio.low)
        b.height = rounded(width / ratio.low);
    else if (sides > ratio.high)
        b.width = rounded(height * ratio.high);
    b.width = b.width < 1 ? 1 : b.width;
    b.height = b.height < 1 ? 1 : b.height;
    b.x = (width - b.width) / 2;
    b.y = (height - b.height) / 2;
    return b;
}

picture_box picture_changes_crop(const picture_changes *c, const picture_draws *d, int32_t width, int32_t height)
{
    picture_box b;
    if (draw_part(d, DRAW_PART, c->crop, width, height, &b))
        return b;
    return middle(c->crop.ratio, width, height);
}

picture_box picture_changes_window(const picture_changes *c, const picture_draws *d, int32_t width, int32_t height,
                                   int32_t of_width, int32_t of_height)
{
    return (picture_box){picture_draw_below(d, DRAW_WINDOW, of_width + 2 * c->padding - width + 1) - c->padding,
                         picture_draw_below(d, DRAW_WINDOW + 1, of_height + 2 * c->padding - height + 1) - c->padding,
                         width, height};
}

/* --- colours --- */

static void change_colours(const picture_changes *c, const picture_draws *d, const jitter_picture *p)
{
    static void (*const changes[])(const jitter_picture *p, float factor) = {jitter_brightness, jitter_contrast,
                                                                            jitter_saturation, jitter_hue};
    const changes_range ranges[] = {c->brightness, c->contrast, c->saturation, c->hue};
    int order[] = {0, 1, 2, 3};
    for (int i = 3; i > 0; i--) { /* Fisher and Yates */
        int other = picture_draw_below(d, DRAW_ORDER + i, i + 1), was = order[i];
        order[i] = order[other];
        order[other] = was;
    }
    for (int i = 0; i < 4; i++) {
        changes_range range = ranges[order[i]];
        if (range.low < range.high)
            changes[order[i]](p, (float)within(d, DRAW_FACTORS + order[i], range));
    }
}

bool picture_changes_paint(const picture_changes *c)
{
    return c->jitters || c->policy.operations > 0;
}

void picture_changes_colours(const picture_changes *c, const picture_draws *d, const picture_planes *p,
                             unsigned char *room)
{
    const jitter_picture colours = {p->at, p->channels, (size_t)p->width * (size_t)p->height};
    if (c->jitters)
        change_colours(c, d, &colours);
    picture_policy_apply(&c->policy, d, p, room);
}

/* --- what is erased --- */

bool picture_changes_erased(const picture_changes *c, const picture_draws *d, int32_t width, int32_t height,
                            picture_box *ret)
{
    changes_part part = {c->erased.scale, {1.0 / c->erased.ratio.high, 1.0 / c->erased.ratio.low}};
    return picture_draw_between(d, DRAW_CHANCE, 0.0, 1.0) < c->chance &&
           draw_part(d, DRAW_ERASED, part, width, height, ret);
}
