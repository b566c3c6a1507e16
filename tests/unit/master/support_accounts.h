/* A job dir for tests of the master's accounts, with a small flat vector and shards of it. */
#ifndef TEQUIO_TESTS_UNIT_MASTER_SUPPORT_ACCOUNTS_H
#define TEQUIO_TESTS_UNIT_MASTER_SUPPORT_ACCOUNTS_H

#include "common/base/json.h"
#include "common/store/checkpoint.h"
#include "master/cuts/saver.h"

typedef struct accounts {
    char *path;
    jobdir *dir;
    flat *flat; /* three live parts and a frozen one */
} accounts;

/* cmocka: fails the running test with the error's text unless `st` is OK. */
void must(status st, const error *err);

accounts accounts_make(void);
void accounts_fini(accounts *b);

bool accounts_has(const accounts *b, const char *name);
void accounts_write(const accounts *b, const char *name, const char *text);
char *accounts_text(const accounts *b, const char *name);   /* the caller frees it */
json_t *accounts_json(const accounts *b, const char *name); /* the caller drops it */

/* Writes the shard of one of n_servers for this cut, every weight being `value`, and the report a
 * server sends then; the texts in it live until the next call. */
shard_report accounts_shard(const accounts *b, const cut_order *cut, int32_t server, int32_t n_servers,
                         float value);

/* Commits a checkpoint of one server at `step`. */
void accounts_commit(const accounts *b, int64_t step, float value);

#endif
