/*
 * Configuration: a jsonnet file (libjsonnet), overrides and flags, checked against one table.
 *
 * options.def holds a row for every key: path, kind, default, bounds, help. The table makes the
 * defaults, the checks, `--help`, the man page and docs/options.md. An unknown key is an error with
 * the nearest known one; a wrong kind or a value out of bounds names key, value and what is right.
 * Precedence: file < environment < -o < flags. AllenNLP's keys are then translated (allennlp.h).
 *
 * Defaults that follow from other keys are filled in too: validation_dataset_reader (the training
 * reader without augment and labels), validation_data_loader.batch_size (the training batch size).
 *
 * Variants: a section with a key `type` (model, trainer.optimizer, ...) takes the keys of that type
 * only; rows name the types they belong to. It may be written as its type alone: "relu" for
 * {type: "relu"}.
 *
 * Ownership: a config owns its tree; a section borrows from its parent and needs no destroying.
 * Immutable after config_load, so any thread may read.
 */
#ifndef TEQUIO_COMMON_CONFIG_CONFIG_H
#define TEQUIO_COMMON_CONFIG_CONFIG_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct config config;

/* The config.json in a model.tar.gz; the caller decrefs it. */
typedef status config_archive_reader(const char *path, json_t **ret, error *err);

typedef struct config_source {
    const char *path;                   /* jsonnet file; or, when NULL, `text` */
    const char *text;
    const char *overrides;              /* -o: a jsonnet object, nested or dotted keys; or NULL.
                                         * "overrides dict contains unused keys" as AllenNLP */
    const char *const *settings;        /* flags, "dotted.key=json", NULL-terminated; or NULL. What
                                         * is no JSON is a string */
    config_archive_reader *read_archive; /* of model.type from_archive; NULL: it is not taken */
    bool takes_auto_batch;              /* data_loader.batch_size may be "auto": config_finds_batch */
} config_source;

/* All environment variables are jsonnet extVars, as in AllenNLP; TEQUIO_SET may hold more settings,
 * separated by newlines. E_CONFIG. */
MUST_USE status config_load(const config_source *source, config **ret, error *err);
void config_destroy(config **c);

/* Whether data_loader.batch_size is to be found yet: as a number it reads 0 until it is one. */
bool config_finds_batch(const config *c);

/* What became of keys of AllenNLP; a warning, of one that is ignored. */
typedef struct config_note {
    bool is_warning;
    const char *text;
} config_note;

/* *ret: [count], borrowed. */
size_t config_notes(const config *c, const config_note **ret);

/* A section by dotted path ("trainer.optimizer", "model.layers[2]"); NULL when absent or null. */
const config *config_section(const config *c, const char *path);

/* Every known key has a value after loading (its default if nothing else); asking for one that is
 * not in the table, or as what it never is, is a BUG. What is null, of another kind this time, or
 * a key that the section's type does not have reads as 0, false, NULL. Paths are relative to the
 * section; "" is the section itself. */
bool config_has(const config *c, const char *path);     /* present and not null */
int64_t config_int(const config *c, const char *path);
double config_f64(const config *c, const char *path);
bool config_bool(const config *c, const char *path);
const char *config_str(const config *c, const char *path);      /* NULL when null */
size_t config_count(const config *c, const char *path);         /* items of a list; 0 when null */
const json_t *config_json(const config *c, const char *path);   /* NULL when absent or null */
/* The value goes to *ret, which stays as it is where the section does not have the key, or as null. */
void config_take_int(const config *c, const char *path, int64_t *ret);
void config_take_f64(const config *c, const char *path, double *ret);
const char *config_path(const config *c);   /* of the section, "" at the top: for messages */

/* The resolved configuration, every default filled in; keys in table order. */
char *config_dump(const config *c);                     /* pretty JSON; the caller frees it */

/* What decides the result: the resolved config without `distributed` (but for what changes bits)
 * and without keys marked not-result in the table (paths, logging). SHA-256 hex[65]. */
void config_digest(const config *c, char *ret_hex);

/* The keys of these that only say when training ends: {"trainer.num_epochs": 20, ...}. A job may go
 * on with other values of them. The caller decrefs it. */
json_t *config_end(const config *c);
/* The digest that `c` would have with that end. */
void config_digest_with(const config *c, const json_t *end, char *ret_hex);

/* "key=<8 hex digits>" lines of the same keys, so that two sides can name what differs. */
void config_digest_lines(const config *c, buf *ret);
/* "key=value" lines likewise, in JSON; of a long value its beginning and its hash. */
void config_value_lines(const config *c, buf *ret);
/* The first key that differs between two such texts, and false if none does. */
bool config_digest_differs(const char *ours, const char *theirs, char *ret_key, size_t bytes);
/* The value of a key in such a text, of *ret_n characters; "absent" if there is none. */
const char *config_line_value(const char *lines, const char *key, int *ret_n);

/* --help, the man page and docs/options.md from the table. */
void config_help_text(buf *ret);
void config_help_markdown(buf *ret);

/* Whether a dotted path leads to a key of the table, of some type, or is one of AllenNLP's; to one that takes lists of
 * numbers alone; and the nearest path of the table, NULL when none is near. */
bool config_knows(const char *path);
bool config_is_list_of_numbers(const char *path);
const char *config_nearest_path(const char *path);

/* The nearest of `names` to `word` (edit distance <= 1 + length / 4), else the one that has its parts between
 * underscores and others, or some of its parts; NULL when none is near. */
const char *config_did_you_mean(const char *word, const char *const *names, size_t n);

#endif
