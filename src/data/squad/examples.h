/*
 * The examples of SQuAD's questions, as AllenNLP's reader transformer_squad makes them: a question with as much of
 * its context as length_limit leaves room for. Of a longer context there are several windows, each with `stride`
 * tokens of the one before.
 *
 * Memory: 12 bytes a token of a context, 4 a token of a question, 40 a question and 8 an example; texts stay in
 * their files. kept.h keeps all of it out of the heap.
 * Threads: made by the calling one and those it starts and ends; then immutable.
 */
#ifndef TEQUIO_DATA_SQUAD_EXAMPLES_H
#define TEQUIO_DATA_SQUAD_EXAMPLES_H

#include "data/squad/passages.h"
#include "data/squad/tokens.h"

typedef struct squad_options {
    const tokenizer *tokenizer;
    const squad_frame *frame;
    int64_t length_limit;           /* tokens of an example, with the special ones */
    int64_t stride;                 /* tokens that a window has in common with the one before */
    int64_t max_query_length;       /* tokens of a question; more are cut off */
    bool skip_impossible;           /* windows without the answer are no examples */
    bool skip_misplaced;            /* nor are questions with an answer that does not stand where it says */
    bool without_answers;           /* answers are not looked at */
} squad_options;

typedef struct squad_context {
    size_t first;                   /* its tokens */
    uint32_t n;
} squad_context;

typedef struct squad_asked {
    size_t first, n;                /* its tokens; nothing is between the fields, for these are hashed */
    uint32_t context, place;        /* place: its number among the passage's questions */
    int32_t answer[2];              /* first and last of the context's tokens; -1: there is none */
} squad_asked;

typedef struct squad_window {
    uint32_t question, first;       /* first: of the context's tokens */
} squad_window;

typedef struct squad_examples {
    squad_tokens tokens;            /* of all contexts */
    squad_ids ids;                  /* of all questions */
    squad_context *contexts;
    squad_asked *questions;
    squad_window *windows;
    size_t n_contexts, contexts_cap, n_questions, questions_cap, n_windows, windows_cap;
    size_t n_misplaced;             /* questions that were left out */
    size_t n_parted;                /* questions with more than one window */
} squad_examples;

/* There may be none. E_DATA: something in a file is not as it should be. E_CONFIG: a window has no more room than
 * what it has in common with the one before. */
MUST_USE status squad_examples_make(const squad_passages *passages, const squad_options *options,
                                    squad_examples *ret, error *err);
void squad_examples_fini(squad_examples *e);

/* How many tokens of the context a window has, which begin behind start, question and middle. */
int64_t squad_window_tokens(const squad_examples *e, const squad_options *o, const squad_window *w);
int64_t squad_window_context(const squad_examples *e, const squad_options *o, const squad_window *w);
/* The answer's first and last place among the context's tokens of the window; false: it is not whole there. */
bool squad_window_answer(const squad_examples *e, const squad_options *o, const squad_window *w, int64_t ret[2]);

#endif
