/*
 * Data: examples with random access, in an order that is a pure function of (seed, epoch).
 *
 * A dataset gives example i's fields, decoded, at any time, from any thread. A loader turns
 * (epoch, batch) into filled buffers: order, augmentation and decoding depend on nothing but
 * (seed, batch id), so any lane can make any batch. Threads of its own fill a ring of buffers ahead
 * of use.
 *
 * Errors: E_DATA names file, offset or example, what is wrong and what would be right.
 */
#ifndef TEQUIO_DATA_DATA_H
#define TEQUIO_DATA_DATA_H

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/dtype.h"
#include "common/base/error.h"
#include "common/config/config.h"
#include "common/parts/flat.h"
#include "common/parts/permute.h"
#include "common/parts/steps.h"
#include "common/store/facts.h"
#include "data/finish.h"
#include "data/pictures/changes.h"

enum { DATA_FIELDS = 8 };

/* Numbers that are bytes in their file: those of channel c mean x * scale[c] + offset[c]. */
enum { DATA_CHANNELS = 4 };
typedef struct data_bytes {
    int32_t channels;               /* 0: they are no bytes; 1: all are alike; else dim[0] */
    float scale[DATA_CHANNELS], offset[DATA_CHANNELS];
    int32_t background;             /* the byte that means data_field.background; -1: none does */
} data_bytes;

/* One field of an example, e.g. "image" f32 [1,28,28] or "label" i64 []. */
typedef struct data_field {
    const char *name;
    dtype dtype;
    int32_t rank;
    int64_t dim[TENSOR_RANK];
    int64_t classes;                /* labels: 0 .. classes-1 are valid; otherwise 0 */
    const char *classes_option;     /* labels whose classes the training data tell: what else of dataset_reader
                                     * would, as "classes"; NULL: nothing would. Static */
    int64_t tokens;                 /* token ids: 0 .. tokens-1 are valid; otherwise 0 */
    const int64_t *sizes;           /* categories [.., dim[rank-1]]: those of column k are 0 ..
                                     * sizes[k]-1; otherwise NULL */
    float background;               /* images: what a pixel outside the picture reads as */
    bool varies;                    /* no example is longer than dim[0]; what a shorter one lacks there is
                                     * filled up, ... */
    bool has_filler;                /* ... DT_I64 by this number */
    int64_t filler;
    bool is_viewed;                 /* images and videos: dataset_read_drawn itself shows the part or the window of them
                                     * that is drawn */
    data_bytes bytes;
} data_field;

typedef struct dataset dataset;

/* Opens what `reader` (the section dataset_reader) says at `path`. */
MUST_USE status dataset_open(const config *reader, const char *path, dataset **ret, error *err);

/* What of a file is read: from one share of its examples (of its tokens, if it is text) to another,
 * and of that the first `limit` examples. */
typedef struct dataset_part {
    double from, to;                /* 0 .. 1 */
    int64_t limit;                  /* 0: all */
} dataset_part;

typedef struct dataset_options {
    const char *vocabulary;         /* these are read as others were: what dataset_vocabulary says
                                     * of the training data; NULL: of none */
    const dataset_part *part;       /* NULL: what `range` and `limit` of the section say */
    bool without_labels;            /* files need not have any; those that stand beside the examples
                                     * are not read */
} dataset_options;

MUST_USE status dataset_open_as(const config *reader, const char *path,
                                const dataset_options *options, dataset **ret, error *err);
/* Does such a reader learn from its data how to turn them into numbers? Then other data need what
 * was learned. */
bool dataset_learns(const config *reader);
/* What was learned, or was given at opening, as JSON text; NULL: nothing. Borrowed. */
const char *dataset_vocabulary(const dataset *d);
/* Appends the word that is number `label` among the classes of the vocabulary, also where labels
 * are not read. False: they have no words. */
bool dataset_label_word(const dataset *d, int64_t label, buf *to);
/* Appends what an example is called, as the file it lies in. False: it has no name. */
bool dataset_example_name(const dataset *d, int64_t example, buf *to);
/* Where an example is a row of words that have labels each: appends word `i` of it, and says where in the row its label
 * stands (-1: it was cut off). False: it has no more words, or is no such row. */
bool dataset_word(const dataset *d, int64_t example, int64_t i, buf *ret_text, int64_t *ret_place);
/* Appends what the data are, but for where they lie; `file` is the option that names them. Data of equal
 * facts give equal examples, as far as facts.h says. Nothing if they are not to be checked. */
void dataset_facts(const dataset *d, const char *file, facts_check how, buf *ret);
void dataset_close(dataset **d);
int64_t dataset_examples(const dataset *d);
const data_field *dataset_fields(const dataset *d, size_t *ret_n);
int64_t data_field_elements(const data_field *f);       /* of one example */
size_t data_field_bytes(const data_field *f);           /* likewise */
/* Of one example of a field of data_bytes, [channels, inner...] or of one channel: the numbers that its bytes mean, in
 * their place. */
void data_bytes_spread(const data_field *f, void *example);
/* The same fields with dim[0] of those that vary; as they are for a length of 0. */
void data_fields_of_length(const data_field *fields, size_t n, int64_t length, data_field *ret);
/* How long each example is, where fields vary; NULL: none does, or they are read without labels. Borrowed. */
const uint32_t *dataset_lengths(const dataset *d);

/* What reading an example takes of memory meanwhile, at most: a file, its pixels. 0: hardly any. */
size_t dataset_reading_bytes(const dataset *d);

/* How many bytes of records were read for examples so far; 0: they are not read from records. */
int64_t dataset_bytes_read(const dataset *d);

/* Which example stands at a place of an epoch, 0 .. examples-1, before they are shuffled: mostly that of this
 * number. */
int64_t dataset_of_epoch(const dataset *d, int64_t epoch, int64_t place);

/* Appends where an example stands, for people: "'val.csv': line 14". It is UTF-8: other bytes of a path become
 * question marks. */
void dataset_place(const dataset *d, int64_t example, buf *ret);

/* Decodes example i: ret[field] has room for data_field_bytes. Any thread; allocates nothing that outlives
 * the call, and nothing at all but to parse a record (jsonl, tfrecord). */
MUST_USE status dataset_read(const dataset *d, int64_t example, void *const *ret, error *err);

/* The same, but fields that are bytes in their file are left as they are. */
MUST_USE status dataset_read_bytes(const dataset *d, int64_t example, void *const *ret, error *err);

/* Either of them; of fields that are viewed, a part of the picture as the section `augment` says
 * (pictures/changes.h). */
MUST_USE status dataset_read_drawn(const dataset *d, int64_t example, const picture_draws *draws, bool as_bytes,
                                   void *const *ret, error *err);

/* Where examples are questions about texts: which one an example asks, and what it says at two positions. All is
 * borrowed until dataset_answer_fini. */
typedef struct dataset_answer {
    int64_t question;               /* its number, 0 .. in the order of the data; its examples, which show parts of
                                     * one text, follow each other */
    int64_t window;                 /* where the example's part begins, in tokens of the text */
    const char *id;                 /* of the question; NULL: it has none */
    const char *text;               /* what stands from the first position to the last; "": positions of no answer */
    int64_t first, last;            /* the positions among the part's tokens; -1: of no answer */
    const char *const *context_tokens; /* the part's */
    size_t n_context_tokens;
    const char *const *gold;        /* right answers */
    size_t n_gold;
    arena *memory;
} dataset_answer;

bool dataset_asks(const dataset *d);
/* Of data that ask. E_DATA: what the file says there is not as it should be. Any thread. */
MUST_USE status dataset_answer_read(const dataset *d, int64_t example, int64_t first, int64_t last,
                                    dataset_answer *ret, error *err);
void dataset_answer_fini(dataset_answer *a);

/* What graphs are made for. */
typedef struct batch_shape {
    int64_t examples;
    int64_t length;                 /* dim[0] of the fields that vary; 0: as the fields have it */
} batch_shape;

typedef struct data_batch {
    step_slot slot;
    batch_shape shape;              /* slot.n, and the length */
    size_t n_fields;
    const data_field *fields;       /* loader_fields, or these of that length */
    const void *data[DATA_FIELDS];  /* [slot.n, field shape...], row-major */
    const finish_draw *draws[DATA_FIELDS]; /* [slot.n] of images that are to be finished; else NULL */
} data_batch;

typedef struct bucketing bucketing; /* bucketing.h */
typedef struct batch_lengths batch_lengths; /* batch_lengths.h */

typedef struct loader_options {
    const dataset *dataset;         /* kept until loader_destroy */
    int64_t batch_size;             /* more than there are examples counts as that many */
    uint64_t seed;
    bool shuffle;
    bucketing *buckets;             /* which examples a batch has, and how long it is; NULL: they come in the
                                     * order of `shuffle`, as long as the fields say. Kept */
    const batch_lengths *lengths;   /* how long batches are that come in the order of the examples; NULL. Kept */
    int64_t length;                 /* of every batch, no example being longer; 0: as the others have it */
    const config *augment;          /* section dataset_reader.augment, or NULL; kept */
    size_t depth;                   /* buffers in the ring, >= 2 */
    int workers;                    /* threads that read ahead, and share the examples of a batch; 0: batches are made
                                     * when they are taken */
    bool bytes;                     /* leave bytes as they are, where augmentation can too, or... */
    bool unfinished;                /* ... where what would need numbers is left to who takes the batches (finish.h) */
} loader_options;

/*
 * Threads: any number may call these at a time. At most `depth` batches may be borrowed at once.
 * Nothing is allocated after loader_create.
 */
typedef struct loader loader;

MUST_USE status loader_create(const loader_options *options, loader **ret, error *err);
void loader_destroy(loader **l);

/* What a loader takes of memory: its ring, and what its threads and a taker read at a time. SIZE_MAX: more than there
 * can be. */
size_t loader_bytes(const loader_options *options);

/* The dataset's; those that stay bytes have type DT_U8. */
const data_field *loader_fields(const loader *l, size_t *ret_n);
/* From what the images of a field are to be finished; NULL: they are. */
const finish_form *loader_form(const loader *l, size_t field);

/* Who does what of `augment`, words with commas between, and what of an example goes up to a device in bytes. */
typedef struct loader_work {
    buf host, device;
    size_t up;
} loader_work;

void loader_work_of(const loader_options *options, loader_work *ret);
void loader_work_fini(loader_work *w);

/* Ask for a batch ahead of use; dropped silently when the ring is full or it is there already.
 * A batch asked for but never taken leaves the ring once a later one has been taken. */
void loader_prefetch(loader *l, const step_slot *slot);

/* The batch, made now if nobody asked; the caller reads what no other thread has begun. Borrowed until loader_release
 * of the same batch. A failure is that of the first of its examples that cannot be read. */
MUST_USE status loader_take(loader *l, const step_slot *slot, const data_batch **ret, error *err);
void loader_release(loader *l, const data_batch *batch);

#endif
