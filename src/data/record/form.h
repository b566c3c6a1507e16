/*
 * Readers of records whose fields are given: a row of a table each, which says of what keys texts and labels are
 * taken. Their names and options are AllenNLP's.
 *
 *   text_classification_json   lines of JSON: a text and its label
 *   snli                       lines of JSON: two sentences and how they go together; "-" is no label
 *
 * Pure functions.
 */
#ifndef TEQUIO_DATA_RECORD_FORM_H
#define TEQUIO_DATA_RECORD_FORM_H

#include "data/record/field.h"

typedef struct record_form {
    const char *type;               /* of the reader */
    const char *text, *pair, *label;/* keys, where no option says another; pair NULL: there is one text */
    const char *text_option, *label_option; /* NULL: it cannot be said */
    const char *number_option;      /* true: labels are numbers; NULL: they are words */
    const char *skips;              /* the label of records that are no examples; NULL: none */
} record_form;

/* NULL: that reader's fields are said by dataset_reader.fields. */
const record_form *record_form_of(const config *reader);
/* Its fields, the text and then the label, but for what opens the tokenizer. Names are kept until `memory` goes.
 * Returns how many. */
size_t record_form_fields(const record_form *form, const config *reader, arena *memory, record_field ret[2]);

#endif
