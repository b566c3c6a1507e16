/*
 * What scores of heads and of tags say of the words of a sentence: each word's head is the one with the highest score,
 * among the root and the other words, and its tag that with the highest score, at that head where tags have scores at
 * each. Of several with the same score the first counts. AllenNLP's greedy decoding.
 * Threads: pure functions.
 */
#ifndef TEQUIO_METRIC_ARCS_H
#define TEQUIO_METRIC_ARCS_H

#include <stdbool.h>
#include <stdint.h>

/* Of one sentence in a row of so many places. */
typedef struct arc_scores {
    const float *heads; /* [places, 1 + places]: the root, then every place */
    const float *tags;  /* [places, tags], or [places, 1 + places, tags] if they are of each head */
    bool tags_of_heads;
    int64_t places, n_tags;
} arc_scores;

enum { ARC_NO_HEAD = -1 };

/* Of the words, which stand where is_word is not 0: ret_heads[i] is 0 of the root or a place from 1, ret_tags[i] a tag.
 * Elsewhere ARC_NO_HEAD. ret_scores[i] is the sum of the two highest scores, NaN if any that was looked at is NaN or
 * infinite upwards; 0 elsewhere. */
void arcs_decode(const arc_scores *s, const unsigned char *is_word, int64_t *ret_heads, int64_t *ret_tags,
                 float *ret_scores);

#endif
