/*
 * What the files of a set of pictures hold, one by one, as `tequio inspect` tells it. Done by all processors; the same
 * for any number of them. Threads: the calling one, and those it starts and ends.
 */
#ifndef TEQUIO_DATA_PICTURES_FIGURES_H
#define TEQUIO_DATA_PICTURES_FIGURES_H

#include "data/pictures/picture.h"
#include "data/pictures/picture_set.h"

typedef struct picture_figures {
    char *broken;                   /* why it cannot be read; NULL: it can, and all that follows is known */
    picture_head head;
    uint64_t bytes;                 /* of its file */
    float mean[PICTURE_CHANNELS];   /* of its pixels as 0 .. 1; a grey picture has three that are alike */
    float square[PICTURE_CHANNELS]; /* the mean of their squares */
} picture_figures;

/* `decodes`: whole pictures are read, and their pixels counted; else heads alone. ret[s->n]; picture_figures_free.
 * Broken ones are no failure. */
MUST_USE status picture_figures_take(const picture_set *s, bool decodes, picture_figures **ret, error *err);
void picture_figures_free(picture_figures *f, size_t n);

#endif
