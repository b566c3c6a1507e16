/*
 * The steps of a decoder (decode.h), which make new texts of those of the one before. Pure functions.
 * Errors: E_DATA, when a pattern wants too many steps or the text grows beyond every use, as by replacements of
 * replacements.
 */
#ifndef TEQUIO_TEXT_DECODE_STEPS_H
#define TEQUIO_TEXT_DECODE_STEPS_H

#include "text/decode_texts.h"
#include "text/pattern.h"

#include <stdbool.h>
#include <stdint.h>

/* Everything that a step may need, of which it uses what is its own. */
typedef struct decode_step decode_step;
struct decode_step {
    status (*apply)(const decode_step *s, const decode_texts *in, decode_texts *out, error *err);
    char *content; /* prefix, suffix, what replaces */
    char *extra;   /* CTC's word delimiter */
    uint32_t code;
    bool cleans, drops_first;
    int64_t start, stop;
    pattern *pattern;
};

/* Whether the text is as long as it may be at the most. */
status decode_check_grown(const decode_texts *out, error *err);

status decode_word_piece(const decode_step *s, const decode_texts *in, decode_texts *out, error *err);
status decode_byte_level(const decode_step *s, const decode_texts *in, decode_texts *out, error *err);
status decode_metaspace(const decode_step *s, const decode_texts *in, decode_texts *out, error *err);
status decode_suffix(const decode_step *s, const decode_texts *in, decode_texts *out, error *err);
status decode_ctc(const decode_step *s, const decode_texts *in, decode_texts *out, error *err);
status decode_fuse(const decode_step *s, const decode_texts *in, decode_texts *out, error *err);
status decode_strip(const decode_step *s, const decode_texts *in, decode_texts *out, error *err);
status decode_replace(const decode_step *s, const decode_texts *in, decode_texts *out, error *err);
status decode_byte_fallback(const decode_step *s, const decode_texts *in, decode_texts *out, error *err);

#endif
