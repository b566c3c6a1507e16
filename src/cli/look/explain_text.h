/*
 * Where the time of a job went, for people: its shares, five sentences of what bounds it, and what to try. Pure
 * functions.
 */
#ifndef TEQUIO_CLI_LOOK_EXPLAIN_TEXT_H
#define TEQUIO_CLI_LOOK_EXPLAIN_TEXT_H

#include "cli/look/suggestions.h"
#include "common/base/buf.h"

enum { EXPLAIN_SENTENCES = 5 };

void explain_sentences(const explain_facts *f, const suggestions *s, buf ret[EXPLAIN_SENTENCES]);
void explain_shares_text(const explain_facts *f, buf *ret);
void explain_suggestions_text(const suggestions *s, buf *ret);

/* All of it as {"lane_s": ..., "bound": ..., "shares": ..., "workers": [...], "sentences": [...],
 * "suggestions": [...]}; the caller's. */
json_t *explain_json(const explain_facts *f, const suggestions *s);

#endif
