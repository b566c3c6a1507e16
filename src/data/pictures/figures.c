/* See figures.h. */
#include "data/pictures/figures.h"

#include "data/index/parallel.h"
#include "data/pictures/survey.h"

#include <stdlib.h>

typedef struct looking {
    const picture_set *set;
    bool decodes;
    picture_figures *figures;
} looking;

static void take_pixels(const picture *p, picture_figures *f)
{
    size_t n = (size_t)p->width * (size_t)p->height, channels = (size_t)p->channels;
    uint64_t sums[PICTURE_CHANNELS] = {0}, squares[PICTURE_CHANNELS] = {0};
    for (size_t i = 0; i < n * channels; i++) {
        uint64_t x = p->pixels[i];
        sums[i % channels] += x;
        squares[i % channels] += x * x;
    }
    for (size_t c = 0; c < PICTURE_CHANNELS; c++) {
        size_t of = c < channels ? c : 0;
        f->mean[c] = (float)((double)sums[of] / ((double)n * 255.0));
        f->square[c] = (float)((double)squares[of] / ((double)n * 255.0 * 255.0));
    }
}

static status look_into(const looking *l, size_t i, const buf *file, error *err)
{
    picture_figures *f = &l->figures[i];
    picture p = {.pixels = NULL};
    const unsigned char *data = (const unsigned char *)file->data;
    f->bytes = file->size;
    TRY(picture_read_head(data, file->size, &f->head, err));
    if (!l->decodes)
        return OK;
    TRY(picture_decode(data, file->size, &(picture_decoding){.shortest = 0}, &p, err));
    take_pixels(&p, f);
    picture_fini(&p);
    return OK;
}

static status look_at(void *user, size_t i, error *err)
{
    const looking *l = user;
    error why = ERROR_INIT;
    buf file = BUF_INIT;
    status st = picture_set_read(l->set, i, &file, &why);
    if (st == OK)
        st = look_into(l, i, &file, &why);
    buf_fini(&file);
    if (st == E_DATA)
        l->figures[i].broken = xstrdup(why.text);
    return st == OK || st == E_DATA ? OK : error_set(err, st, "%s", why.text);
}

status picture_figures_take(const picture_set *s, bool decodes, picture_figures **ret, error *err)
{
    looking l = {.set = s, .decodes = decodes, .figures = xcalloc(s->n, sizeof *l.figures)};
    status st = parallel_for(s->n, 0, look_at, &l, err);
    if (st == OK)
        *ret = l.figures;
    else
        picture_figures_free(l.figures, s->n);
    return st;
}

void picture_figures_free(picture_figures *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(f[i].broken);
    free(f);
}
