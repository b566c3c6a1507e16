/*
 * Unicode's normalization forms (UAX #15), by utf8proc, as of Unicode 9: of newer code points nothing is known, as
 * for Hugging Face's `tokenizers`, whatever utf8proc is installed.
 * Threads: a scratch belongs to one at a time.
 */
#ifndef TEQUIO_TEXT_FORMS_H
#define TEQUIO_TEXT_FORMS_H

#include "text/run.h"

typedef enum form { FORM_NFC, FORM_NFD, FORM_NFKC, FORM_NFKD } form;

typedef struct form_char {
    uint32_t code;
    int32_t change; /* as rewrite_put takes it */
    uint8_t class;  /* canonical combining class */
} form_char;

typedef struct forms_scratch {
    form_char *at;
    size_t n, cap;
} forms_scratch;

void forms_scratch_fini(forms_scratch *s);

/* The rest of the piece, in that form. */
void forms_rewrite(form which, forms_scratch *s, rewrite *w);

void forms_library_version(char *ret, size_t bytes);

#endif
