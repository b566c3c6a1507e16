/*
 * The passages of files of SQuAD's form, v1.1 or v2.0 ({"data": [{"paragraphs": [...]}]}), or of lines
 * {"question": ..., "context": ...}, where "passage" is as good as "context": where each lies in its file. A
 * passage is parsed when it is read, so no file is ever held as a tree.
 *
 * Errors: E_DATA names the file and the byte, and from squad_passage_read on the paragraph and the question too.
 * Threads: any may read passages once they are found.
 */
#ifndef TEQUIO_DATA_SQUAD_PASSAGES_H
#define TEQUIO_DATA_SQUAD_PASSAGES_H

#include "common/base/json.h"
#include "data/index/records.h"

#include <stdbool.h>

typedef struct squad_place {
    uint64_t at, bytes;             /* in its file; nothing is between the fields, for these are kept in files */
    uint32_t file, is_line;         /* is_line: it is one question with its context */
} squad_place;

/* Of all files, in their order. A zeroed one has none. */
typedef struct squad_passages {
    squad_place *at;
    size_t n, cap;
    const record_source **files;
    size_t n_files, files_cap;
} squad_passages;

/* A file more, which is kept. */
void squad_passages_add_file(squad_passages *to, const record_source *file);
/* Finds the passages of file `i`, which are added; it may have none. */
MUST_USE status squad_passages_find(squad_passages *to, size_t i, error *err);
void squad_passages_fini(squad_passages *p);

/* A passage while it is looked at. */
typedef struct squad_passage {
    json_t *root;
    const char *context;            /* borrowed from the root, as all texts are */
    size_t n_questions;
    const squad_place *place;
    const record_source *file;
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
