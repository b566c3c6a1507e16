/*
 * Cutting a piece where delimiters are: what Hugging Face's `tokenizers` calls split behaviours.
 *
 *   removed                "a-b--c" at "-":  a b c
 *   isolated               a - b - - c
 *   contiguous             a - b -- c
 *   merged with previous   a- b- - c
 *   merged with next       a -b - -c
 *
 * A cutter is told the parts of the piece one after another, delimiters and others. One thread at a time.
 */
#ifndef TEQUIO_TEXT_CUT_H
#define TEQUIO_TEXT_CUT_H

#include "text/run.h"

typedef enum cut_behavior {
    CUT_REMOVED,
    CUT_ISOLATED,
    CUT_MERGED_WITH_PREVIOUS,
    CUT_MERGED_WITH_NEXT,
    CUT_CONTIGUOUS,
} cut_behavior;

extern const char *const cut_behavior_words[]; /* as a tokenizer.json has them, then NULL */

typedef struct cutter {
    cut_behavior behavior;
    bool inverted; /* what is told as a delimiter is none, and the other way round */
    const run *in;
    pieces *out;
    uint32_t begin, end; /* the part that waits for what comes next; begin == end: none does */
    bool was_delimiter;  /* it is one, or ends with one */
} cutter;

cutter cutter_begin(cut_behavior behavior, bool inverted, const run *in, pieces *out);
/* Bytes begin .. end-1 of the run; parts follow each other without a gap. Empty ones are ignored. */
void cutter_part(cutter *c, uint32_t begin, uint32_t end, bool is_delimiter);
void cutter_end(cutter *c);

#endif
