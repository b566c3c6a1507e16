/*
 * What readers of pictures and of videos in files have alike (reader.h): their struct's first member is this one. An
 * example is a field of pixels, made of one file or of several, and its class.
 * Threads: as of a dataset (data.h).
 */
#ifndef TEQUIO_DATA_PICTURES_PICTURE_READER_H
#define TEQUIO_DATA_PICTURES_PICTURE_READER_H

#include "data/pictures/picture_options.h"
#include "data/pictures/picture_set.h"
#include "data/reader.h"

typedef struct picture_reader picture_reader;

/* What is special to one of them. */
typedef struct picture_reader_kind {
    /* The pixels of an example, with a byte each; `draws` are of the changes, NULL: there are none. */
    status (*view)(const picture_reader *r, size_t example, const picture_draws *draws, unsigned char *ret, error *err);
    /* Where the field is none of data_bytes: its bytes become numbers in their place. NULL: it is. */
    void (*spread)(const picture_reader *r, void *field);
    /* The files of an example: so many of `files`, from *ret_first on. NULL: one, of its number. */
    size_t (*files)(const picture_reader *r, size_t example, size_t *ret_first);
    void (*close)(picture_reader *r); /* frees what is not of picture_reader, but not `r`; NULL: nothing */
} picture_reader_kind;

struct picture_reader {
    dataset base;
    const picture_reader_kind *kind;
    picture_set files;
    const picture_set *examples;    /* their names and labels: `files`, or what these belong to */
    picture_options options;
    bool has_many;                  /* labels an example: a share of 1 of each class that it has */
    void *prints;                   /* of each example, what two readers must have alike */
    size_t print_bytes;             /* of one */
    char *vocabulary;               /* NULL: no classes are known */
};

/* Sets base.ops and takes the options of the section; all else is the caller's to fill in. E_CONFIG. */
MUST_USE status picture_reader_begin(const reader_request *request, const picture_reader_kind *kind,
                                     picture_reader *r, error *err);
/* Classes and order of the examples: each class has some, and they are dealt (picture_set.h), or stay as they are where
 * each has any number of classes. E_DATA. */
MUST_USE status picture_reader_deal(const reader_request *request, picture_reader *r, picture_set *examples,
                                    error *err);
/* The fields of examples whose pixels are `pixels`, and the vocabulary. */
void picture_reader_describe(picture_reader *r, const data_field *pixels, bool without_labels);
/* The end of opening, whose status is `st`: leaves the part that is asked for, or closes the reader. */
MUST_USE status picture_reader_end(const reader_request *request, status st, picture_reader *r, dataset **ret,
                                   error *err);

/* The part of a picture's file that its example shows (view.h), with the path in front of what is wrong with it. */
MUST_USE status picture_reader_view(const picture_reader *r, size_t file, const picture_draws *draws,
                                    unsigned char *ret, error *err);

#endif
