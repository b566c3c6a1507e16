/*
 * The fields of examples that are records (dataset_reader.fields): a table of kinds says what a value may
 * be and what becomes of it. A new kind is a row of that table (field.c) and a word of the option's.
 *
 *   number, numbers     float32: finite; one, as many as `shape` says, or any number up to `most`
 *   integer, integers   int64, likewise
 *   mask                int64 [most]: 1 where a list up to `most` has a value, 0 where it was filled up
 *   bytes               float32: the bytes of a string, divided by 255, as many as `shape` says
 *   label               int64: a class by its number, 0 to classes - 1
 *   labels              float32 [classes]: 1 for each class that a list names by its number, which may be empty; else 0
 *   word                int64: a class by its word, numbered in the order of the training data's words
 *   text                a text, or two, as tokens: the fields of text_encoder.h
 *   image               float32 [channels, height, width]: a JPEG, PNG or WebP, of one size (picture_options.h); where
 *                       strings are text, by the path of its file
 *
 * Threads: immutable once what there is to learn was learned; then any.
 */
#ifndef TEQUIO_DATA_RECORD_FIELD_H
#define TEQUIO_DATA_RECORD_FIELD_H

#include "common/base/alloc.h"
#include "data/pictures/picture_options.h"
#include "data/reader.h"
#include "data/record/format.h"
#include "data/text_encoder.h"
#include "data/words.h"

typedef struct field_kind field_kind;

typedef struct record_field {
    const char *name, *key;         /* of the example's field, and where it stands in a record */
    const field_kind *kind;
    int32_t rank;
    int64_t dim[TENSOR_RANK];
    int64_t elements;
    bool varies;                    /* a record has 1 .. elements values; the rest is filled up */
    double filler;                  /* with this; of integers: one of them */
    bool is_learned;                /* its classes are the training data's */
    bool grows;                     /* classes that a vocabulary gives, and those that these data add to them */
    int64_t classes;                /* of a label or a word; 0: not known yet */
    words *words;                   /* of a word */
    const char *skips;              /* a word: records that have it are no examples; NULL: none */
    const char *pair;               /* of a text: where the second one stands; NULL: there is one alone */
    text_encoder *encoder;          /* likewise */
    picture_options *picture;       /* of an image */
    const char *root;               /* of one that is named by its path: the folder of such paths */
} record_field;

typedef struct record_fields {
    record_field at[DATA_FIELDS];
    size_t n;
    arena *memory;                  /* of names and keys */
    record_field
        unread; /* a word that is not read, for the words of its classes; its kind is NULL: there is none */
} record_fields;

/* What dataset_reader.fields says, but for labels where these are not read; with the classes of
 * `vocabulary`, if that is given. E_CONFIG, E_DATA (a vocabulary that lacks a field). */
MUST_USE status record_fields_read(const reader_request *request, const record_format *format,
                                   record_fields *ret, error *err);
void record_fields_fini(record_fields *fields);
/* Are the classes of a field the training data's, while no vocabulary is given that says them? */
bool record_fields_learn(const config *reader);

/* Appends what decides whether a record is as it should be, but for what its classes are. */
void record_fields_describe(const record_fields *fields, buf *ret);
bool record_field_is_list(const record_field *f);
bool record_field_is_bytes(const record_field *f);
bool record_field_is_text(const record_field *f);
bool record_field_is_image(const record_field *f);
bool record_field_is_path(const record_field *f);       /* an image by the path of its file */
bool record_field_is_labels(const record_field *f);
/* The path of a record's image; free it. E_DATA. */
MUST_USE status record_field_path(const record_field *f, const record_format *format, const void *parsed, char **ret,
                                  error *err);
/* A row of the table. */
const field_kind *field_kind_of(const char *type);
extern const field_kind field_kind_of_paths; /* an image by the path of its file */
/* A text whose tokens are words of the training data (text_words.h). */
bool record_field_has_words(const record_field *f);
/* What becomes of it in an example: so many fields as it returns. */
size_t record_field_data(const record_field *f, data_field ret[TEXT_FIELDS]);

typedef struct record_measure {
    int64_t length;                 /* the most values of a field that varies; 0: none does */
    bool was_cut;                   /* a text has lost tokens, for it has more than `most` */
    size_t reading;                 /* bytes that its images and decoding one take */
} record_measure;

/* How a record is read. */
typedef struct record_reading {
    bool raw;                       /* bytes stay bytes */
    const picture_draws *draws;     /* of an image's changes; NULL: there are none */
    record_measure *measure;        /* only measured: of images the heads are read alone; NULL: they are decoded */
} record_reading;

/* Turns a parsed record into values: ret[i] has room for the i-th of all that record_field_data gives. E_DATA, naming
 * the field; the caller prepends where the record stands. */
MUST_USE status record_fields_take(const record_fields *fields, const record_format *format, const void *parsed,
                                   const record_reading *how, void *const *ret, error *err);
/* Whether a record is none of the examples, by a word that a field skips. */
bool record_fields_skip(const record_fields *fields, const record_format *format, const void *parsed);
bool record_fields_may_skip(const record_fields *fields);

/* --- what is learned --- */

/* A class, whose highest number or words all records must be asked for. */
bool record_field_is_label(const record_field *f);
bool record_field_is_word(const record_field *f);
/* What one record teaches of a label: adds its word to `learned`, known or not, or raises *classes. E_DATA. */
MUST_USE status record_field_learn(const record_field *f, const record_format *format, const void *parsed,
                                   words *learned, int64_t *classes, error *err);
/* Counts the words of one record's text, the `number`-th. E_DATA. */
MUST_USE status record_field_count(const record_field *f, const record_format *format, const void *parsed,
                                   int64_t number, word_counts *counts, error *err);

#endif
