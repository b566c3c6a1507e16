/*
 * run: text on its way to tokens, of which every byte knows the bytes of the original that it stands for.
 * piece: a part of a run that becomes tokens by itself; or has become one already.
 *
 * A step reads the pieces of one run and writes those of another (rewrite), or cuts the pieces where they are.
 * What a byte that was inserted stands for follows Hugging Face's `tokenizers`: as the byte before it.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_TEXT_RUN_H
#define TEQUIO_TEXT_RUN_H

#include "text/tokenizer.h"

typedef struct run {
    char *text;
    tokenizer_span *from; /* [bytes]: in bytes of the original */
    uint32_t bytes;
    size_t text_cap, from_cap;
} run;

enum { RUN_LIMIT = (1 << 30) - 1 }; /* bytes that a step may leave; a step of a pre-tokenizer makes up to 4 of each */

enum { PIECE_OPEN = -1 }; /* as `id`: not a token yet */

typedef struct piece {
    uint32_t begin, end; /* bytes of the run */
    uint32_t origin;     /* where it begins in the original */
    int32_t id;
} piece;

typedef struct pieces {
    piece *at;
    size_t n, cap;
} pieces;

/* Empty; memory is kept. */
void run_clear(run *r);
void run_fini(run *r);
/* The original itself: every byte stands for its character. */
void run_of(run *r, const char *text, uint32_t bytes);
/* Room for so many bytes behind what is there. */
void run_reserve(run *r, size_t more);
/* These bytes of `in`, as they are. */
void run_copy(run *r, const run *in, uint32_t begin, uint32_t end);
/* What bytes begin .. end-1 stand for: begin < end. */
static inline tokenizer_span run_span(const run *r, uint32_t begin, uint32_t end)
{
    return (tokenizer_span){r->from[begin].begin, r->from[end - 1].end};
}

void pieces_clear(pieces *p);
void pieces_fini(pieces *p);
void pieces_add(pieces *p, piece what);
/* Bytes begin .. end-1 of an open piece of `r`, unless there are none. */
void pieces_cut(pieces *p, const run *r, uint32_t begin, uint32_t end);

/* --- rewriting a piece, character by character --- */

typedef struct rewrite {
    const run *in;
    run *out;
    piece of;
    uint32_t at; /* byte of `in` that is next */
} rewrite;

/* From the first byte of the piece. */
rewrite rewrite_begin(const run *in, run *out, piece of);
/* Leaves out so many characters. */
void rewrite_skip(rewrite *w, size_t characters);
/* Writes `code`. change 0: in place of the next character; -n: and of the n behind it, which go; over 0: between
 * the character before and the next. */
void rewrite_put(rewrite *w, uint32_t code, int32_t change);
/* As they are, up to byte `end` of `in`. */
void rewrite_keep(rewrite *w, uint32_t end);
/* Writes `text` in front of the next character, as whose part it counts; nothing in front of nothing. */
void rewrite_prepend(rewrite *w, const char *text, size_t bytes);

#endif
