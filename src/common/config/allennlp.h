/*
 * AllenNLP's configuration files: what becomes of each of their keys, by one table (allennlp.def). It makes
 * the translation, the messages and docs/allennlp-keys.md.
 *
 * The keys of all generations are translated in every configuration: none of them means anything else here.
 * A key of ours that is given too wins over what is translated to it.
 *
 * Threads: pure.
 */
#ifndef TEQUIO_COMMON_CONFIG_ALLENNLP_H
#define TEQUIO_COMMON_CONFIG_ALLENNLP_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* Of one key: what it is taken as, or, as a warning, why it is ignored. */
typedef void allennlp_note_fn(void *user, bool is_warning, const char *text);

/* Translates in place. E_CONFIG: a key that is refused, with the reason. */
MUST_USE status allennlp_translate(json_t *tree, allennlp_note_fn *note, void *user, error *err);

/* A key that is translated, or lies within one; `path` as in "trainer.callbacks.0". */
bool allennlp_knows(const char *path);

/* The names of the keys of a section by its schema, up to `most` of them: for "did you mean". */
size_t allennlp_names(const char *schema, const char **ret, size_t most);

/* The table as Markdown. */
void allennlp_markdown(buf *ret);

#endif
