/* See view.h. */
#include "data/pictures/view.h"

#include "common/base/alloc.h"

#include <string.h>

/* In place: red, green and blue as convert("L") weighs them. */
static void make_grey(picture *p)
{
    size_t n = (size_t)p->width * (size_t)p->height;
    const unsigned char *in = p->pixels;
    for (size_t i = 0; i < n; i++, in += PICTURE_CHANNELS)
        p->pixels[i] = (unsigned char)((in[0] * 19595 + in[1] * 38470 + in[2] * 7471 + 0x8000) >> 16);
    p->channels = 1;
}

/* torchvision's int(round((whole - part) / 2.0)): halves go to the even number. */
static int32_t middle_of(int32_t whole, int32_t part)
{
    int32_t twice = whole - part, half = twice / 2;
    return half + (twice % 2 && half % 2);
}

typedef struct layout {
    int32_t width, height;          /* the whole picture in its new size */
    picture_box window;             /* what is kept of it, and may reach beyond it */
    picture_box from;               /* the part of the old one that it is made of */
} layout;

/* Of a picture of those sides. */
static layout lay_out(const picture_view *v, int32_t of_width, int32_t of_height)
{
    layout l = {v->width, v->height, {0, 0, v->width, v->height}, {0, 0, of_width, of_height}};
    if (v->resize == 0)
        return l;
    int64_t width = of_width, height = of_height, side = v->resize;
    l.width = (int32_t)(width <= height ? side : side * width / height);
    l.height = (int32_t)(width <= height ? side * height / width : side);
    l.window.x = middle_of(l.width, v->width);
    l.window.y = middle_of(l.height, v->height);
    return l;
}

/* What of the window has pixels, counted from the window's corner. */
static picture_box covered(const layout *l)
{
    const picture_box *w = &l->window;
    picture_box b = {w->x < 0 ? -w->x : 0, w->y < 0 ? -w->y : 0, 0, 0};
    int32_t right = l->width - w->x < w->width ? l->width - w->x : w->width;
    int32_t bottom = l->height - w->y < w->height ? l->height - w->y : w->height;
    b.width = right > b.x ? right - b.x : 0;
    b.height = bottom > b.y ? bottom - b.y : 0;
    return b;
}

/* [height][width][from] becomes the part `at` of [channels][height][width]. */
static void part_channels(const unsigned char *in, int32_t from, const picture_view *v, const picture_box *at,
                          unsigned char *ret)
{
    size_t n = (size_t)v->width * (size_t)v->height, width = (size_t)at->width;
    for (int32_t c = 0; c < v->channels; c++, ret += n)
        for (int32_t y = 0; y < at->height; y++) {
            const unsigned char *row = in + (size_t)y * width * (size_t)from + (size_t)(c < from ? c : 0);
            unsigned char *out = ret + (size_t)(at->y + y) * (size_t)v->width + (size_t)at->x;
            for (size_t x = 0; x < width; x++)
                out[x] = row[x * (size_t)from];
        }
}

/* The part that is drawn gets the whole size. */
static layout lay_out_part(const picture_view *v, const picture_draws *draws, int32_t width, int32_t height)
{
    return (layout){v->width, v->height, {0, 0, v->width, v->height},
                    picture_changes_crop(&v->changes, draws, width, height)};
}

static layout lay_out_drawn(const picture_view *v, const picture_draws *draws, int32_t width, int32_t height)
{
    if (!draws)
        return lay_out(v, width, height);
    layout l = v->changes.crops ? lay_out_part(v, draws, width, height) : lay_out(v, width, height);
    if (v->changes.pads)
        l.window = picture_changes_window(&v->changes, draws, v->width, v->height, l.width, l.height);
    return l;
}

/* Of the picture in its new size, what of the window has pixels. */
static picture_box kept(const layout *l, const picture_box *at)
{
    return (picture_box){l->window.x + at->x, l->window.y + at->y, at->width, at->height};
}

/* Of a picture laid out as `l` says *p is the part whose corner is (x, y), or all of it. */
static status show(const picture_view *v, const layout *l, picture *p, int32_t x, int32_t y, unsigned char *ret,
                   error *err)
{
    void *room = NULL;
    size_t n = (size_t)v->width * (size_t)v->height;
    picture_box at = covered(l), window = kept(l, &at);
    picture_box from = {l->from.x - x, l->from.y - y, l->from.width, l->from.height};
    if (v->channels == 1 && p->channels != 1)
        make_grey(p);
    if (at.width < v->width || at.height < v->height)
        memset(ret, v->changes.fill, n * (size_t)v->channels);
    if (at.width == 0 || at.height == 0)
        return OK;
    TRY(mem_alloc(n * (size_t)p->channels, "a picture", &room, err));
    status st = picture_resample(p, &from, l->width, l->height, &window, room, err);
    if (st == OK)
        part_channels(room, p->channels, v, &at, ret);
    mem_free(room);
    return st;
}

status picture_view_show(const picture_view *v, const picture_draws *draws, picture *p, unsigned char *ret, error *err)
{
    layout l = lay_out_drawn(v, draws, p->width, p->height);
    return show(v, &l, p, 0, 0, ret, err);
}

/* Which part of the picture is looked at; all, where nothing is: a damaged one is to be found. */
static picture_box looked_at(const layout *l, int32_t width, int32_t height)
{
    picture_box at = covered(l), window = kept(l, &at);
    if (at.width == 0 || at.height == 0)
        return (picture_box){0, 0, width, height};
    return picture_resample_reads(&l->from, l->width, l->height, &window);
}

status picture_view_take(const picture_view *v, const picture_draws *draws, const unsigned char *data, size_t bytes,
                         unsigned char *ret, error *err)
{
    picture_head head;
    picture p;
    picture_box has;
    int32_t width, height;
    TRY(picture_read_head(data, bytes, &head, err));
    picture_sides(&head, &v->decoding, &width, &height);
    layout l = lay_out_drawn(v, draws, width, height);
    picture_box part = looked_at(&l, width, height);
    TRY(picture_decode_part(data, bytes, &head, &v->decoding, &part, &p, &has, err));
    status st = show(v, &l, &p, has.x, has.y, ret, err);
    picture_fini(&p);
    return st;
}
