/*
 * Post-processors: which special tokens stand around one text or two, and whether the white space that a token
 * begins or ends with counts among what it comes from.
 *
 * Threads: a post-processor does not change once it is loaded.
 */
#ifndef TEQUIO_TEXT_POST_PROCESS_H
#define TEQUIO_TEXT_POST_PROCESS_H

#include "common/base/error.h"
#include "common/base/json.h"

#include <stdbool.h>
#include <stdint.h>

enum { POST_PROCESS_ITEMS = 64 };

typedef struct post_item {
    int8_t sequence; /* 0 the first text, 1 the second; -1: the token `id` */
    int32_t id;
    int32_t type_id;
} post_item;

typedef struct post_template {
    post_item at[POST_PROCESS_ITEMS];
    int n;
    int n_special; /* those that are tokens */
} post_template;

typedef struct post_processor {
    post_template templates[2]; /* of one text, of two */
    bool trims;
    bool keeps_prefix; /* not a single blank at the beginning, which was put there */
} post_processor;

/* `value` NULL: no special tokens. */
MUST_USE status post_processor_load(const json_t *value, const char *place, post_processor *ret, error *err);

/* From the characters: how many of the first, and of the last, are white space or stand for a blank. */
void post_processor_blanks(const char *text, size_t bytes, uint16_t *ret_leading, uint16_t *ret_trailing);

#endif
