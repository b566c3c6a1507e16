/* A job dir for tests of the master's books, with a small flat vector and shards of it. */
#ifndef TEQUIO_TESTS_UNIT_MASTER_SUPPORT_BOOKS_H
#define TEQUIO_TESTS_UNIT_MASTER_SUPPORT_BOOKS_H

#include "common/base/json.h"
#include "common/store/checkpoint.h"
#include "master/cuts/saver.h"

typedef struct books {
    char *path;
    jobdir *dir;
    flat *flat; /* three live parts and a frozen one */
} books;

/* cmocka: fails the running test with the error's text unless `st` is OK. */
void must(status st, const error *err);

books books_make(void);
void books_fini(books *b);

bool books_has(const books *b, const char *name);
void books_write(const books *b, const char *name, const char *text);
char *books_text(const books *b, const char *name);   /* the caller frees it */
json_t *books_json(const books *b, const char *name); /* the caller drops it */

/* Writes the shard of one of n_servers for this cut, every weight being `value`, and the report a
 * server sends then; the texts in it live until the next call. */
shard_report books_shard(const books *b, const cut_order *cut, int32_t server, int32_t n_servers,
                         float value);

/* Commits a checkpoint of one server at `step`. */
void books_commit(const books *b, int64_t step, float value);

#endif
