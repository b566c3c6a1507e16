/*
 * Facts: what the files are that a task reads, as lines "key=value", so that tasks, and starts of a job,
 * find out that they do not read the same. A key is the option that names the file and what is told of
 * it: "train_data_path.examples=60000", "model.path.sampled_sha256=5ef1...". Where a file lies is no fact.
 *
 * What only one side tells is not compared: it may look closer, or not at all (data_check).
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_COMMON_STORE_FACTS_H
#define TEQUIO_COMMON_STORE_FACTS_H

#include "common/base/buf.h"
#include "common/base/content_digest.h"
#include "common/base/json.h"
#include "common/config/config.h"

/* The option data_check. */
typedef enum facts_check { FACTS_OFF, FACTS_SAMPLED, FACTS_FULL } facts_check;
facts_check facts_check_of(const config *c);

/* Appends "<file>.<what>=<value>"; control characters of the value become blanks. A long value, as of
 * hundreds of fields, is its beginning and the SHA-256 of all of it: facts go with a HELLO, which must be
 * small (TRANSPORT.md, "Strangers"). */
void facts_add(buf *to, const char *file, const char *what, const char *value);
/* Appends bytes, the sampled hash and, if that is asked for, the whole one. */
void facts_add_contents(buf *to, const char *file, facts_check how, const content_digest *s);
/* Appends the lines of `more` whose keys are not there yet; whether there were any. */
bool facts_merge(buf *to, const char *more);

/* The first key of both that has two values, as "'train_data_path.examples' is 300 there, 400 here";
 * false, with nothing appended, if there is none. Lines that are NULL tell nothing; `ret` may be NULL. */
bool facts_differ(const char *here, const char *there, buf *ret);

/* A line of the log, READS. */
void facts_log(const char *lines);

/* As an object of strings, and back. */
json_t *facts_to_json(const char *lines);
void facts_from_json(const json_t *o, buf *ret);

#endif
