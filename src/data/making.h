/*
 * From an example of a dataset to its place in a batch, and from examples to what training sees of them together: as
 * bytes or numbers, augmented (augment.h), of the batch's length, mixed (mix.h).
 *
 * Where a device finishes images (finish.h), a batch has them as they were read, and what was drawn for each.
 *
 * What comes out depends on nothing but the batch and the place in it. Threads: pure functions of a `making` that stays
 * as it is, each in a scratch of its own; mixing wants the whole batch.
 */
#ifndef TEQUIO_DATA_MAKING_H
#define TEQUIO_DATA_MAKING_H

#include "data/augment.h"
#include "data/mix.h"

typedef struct making {
    const dataset *dataset;
    uint64_t seed;
    augment augment;
    mix mix;
    bool draws;                     /* there is a section dataset_reader.augment */
    bool is_cut;                    /* fields that vary are read at full length, and cut off */
    bool as_bytes;                  /* fields that are bytes in their file stay so */
    bool paints;                    /* they are read as bytes, whatever becomes of them */
    size_t n_fields;
    data_field fields[DATA_FIELDS]; /* as a batch has them, of the longest */
    bool is_label[DATA_FIELDS];     /* read as a class, and a batch has probabilities */
    bool unfinished[DATA_FIELDS];   /* images that a device finishes, ... */
    finish_form forms[DATA_FIELDS]; /* ... from these */
} making;

/* Where a batch is made. */
typedef struct made {
    void *data[DATA_FIELDS];
    finish_draw *draws[DATA_FIELDS]; /* of fields that are unfinished; else NULL */
} made;

making making_of(const loader_options *o);
/* Of the section dataset_reader.augment (NULL: none), and model.labels (NULL: not known, or the usual ones). E_CONFIG:
 * the data have nothing that it can change, or something that would no longer fit what it changes. */
MUST_USE status making_check(const config *section, const json_t *labels, const dataset *d, error *err);
/* What making_read and making_mix work in; 0: nothing. */
size_t making_scratch(const making *m);

/* `example` of the dataset becomes the one at `place` of a batch with these fields. E_DATA. */
MUST_USE status making_read(const making *m, const data_batch *batch, int64_t example, int64_t place, const made *to,
                            char *scratch, error *err);
/* Of all of a batch's examples, once they are there. */
void making_mix(const making *m, const data_batch *batch, const made *to, char *scratch);

#endif
