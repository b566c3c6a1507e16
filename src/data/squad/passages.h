/*
 * The passages of a file of SQuAD's form, v1.1 or v2.0 ({"data": [{"paragraphs": [...]}]}), or of lines
 * {"question": ..., "context": ...}, where "passage" is as good as "context": where each lies in the file. A
 * passage is parsed when it is read, so the file is never held as a tree.
 *
 * Errors: E_DATA names the file and the byte, and from squad_passage_read on the paragraph and the question too.
 * Threads: any may read passages once they are found.
 */
#ifndef TEQUIO_DATA_SQUAD_PASSAGES_H
#define TEQUIO_DATA_SQUAD_PASSAGES_H

#include "common/base/json.h"
#include "data/source.h"

#include <stdbool.h>

typedef struct squad_place {
    size_t at, bytes;               /* in the file */
} squad_place;

typedef struct squad_passages {
    const source *file;             /* kept */
    const char *path;               /* kept */
    squad_place *at;
    size_t n, cap;
    bool are_lines;                 /* each is one question with its context */
} squad_passages;

MUST_USE status squad_passages_find(const source *file, const char *path, squad_passages *ret, error *err);
void squad_passages_fini(squad_passages *p);

/* A passage while it is looked at. */
typedef struct squad_passage {
    json_t *root;
    const char *context;            /* borrowed from the root, as all texts are */
    size_t n_questions;
    bool is_line;
    const char *path;
    size_t at;
} squad_passage;

MUST_USE status squad_passage_read(const squad_passages *all, size_t i, squad_passage *ret, error *err);
void squad_passage_fini(squad_passage *p);

typedef struct squad_question {
    const char *id, *text;          /* id: NULL if it has none */
    const json_t *answers;          /* of SQuAD's form; NULL: there are none to be known */
} squad_question;

MUST_USE status squad_passage_question(const squad_passage *p, size_t i, squad_question *ret, error *err);
/* The text of an answer of that question, and where in the context it begins, in characters; -1: not said. */
MUST_USE status squad_passage_answer(const squad_passage *p, const squad_question *q, size_t i, const char **ret,
                                     int64_t *ret_start, error *err);
size_t squad_question_answers(const squad_question *q);

/* Prepends the place of a question to the cause. */
void squad_passage_blame(const squad_passage *p, const squad_question *q, error *err);

#endif
