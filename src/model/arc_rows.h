/*
 * Heads and tags of words, as metrics count them: what a model's two outputs say of a batch, and the labels beside it,
 * in rows as long as those of the longest batch.
 * Threads: one at a time.
 */
#ifndef TEQUIO_MODEL_ARC_ROWS_H
#define TEQUIO_MODEL_ARC_ROWS_H

#include "data/data.h"
#include "graph/graph.h"
#include "metric/metrics.h"
#include "model/loss.h"

/* Opened by arc_rows_open. */
typedef struct arc_rows {
    const dataset *data;
    const char *heads, *tags;      /* the fields */
    const char *parts_of_speech;   /* likewise; NULL: there is none */
    int64_t ignore_index;
    bool by_labels;                /* a place begins a word if it has a head; else the data say which do, by the
                                    * example's number, which a batch that was shuffled does not tell */
    int64_t row;                   /* places of a row */
    const char *const *pos_words;  /* of parts of speech; NULL: they have none */
    int64_t n_pos_words;
    int64_t *labels[5];            /* by arc_rows.c, of a batch */
    float *scores;
    unsigned char *is_word;        /* of an example */
    size_t cap;
} arc_rows;

/* Of the loss dependencies; `row` places are the most. What it keeps beside rows lies in `a`. */
void arc_rows_open(const dataset *d, const model_loss *loss, int64_t row, arena *a, arc_rows *ret);
void arc_rows_fini(arc_rows *r);

/* Scores of a batch, [batch, words, 1 + words] and as prediction.h has those of tags. */
void arc_rows_take(arc_rows *r, const data_batch *batch, const graph_value *heads, const float *of_heads,
                   const graph_value *tags, const float *of_tags, metric_batch *ret);

/* Which places of the example's row begin a word. */
void arc_rows_words(const dataset *d, int64_t example, int64_t places, unsigned char *ret_is_word);

#endif
