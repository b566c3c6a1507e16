/*
 * What a reader of one file format gives the rest of the floor: an operations table and the common
 * head of its dataset. To add a reader, write one file and give it a row in readers.c.
 * Threads: as in data.h.
 */
#ifndef TEQUIO_DATA_READER_H
#define TEQUIO_DATA_READER_H

#include "common/base/content_digest.h"
#include "common/base/json.h"
#include "data/column.h"
#include "data/data.h"

/* What other data have taught the reader of these (dataset_vocabulary). */
typedef struct reader_vocabulary {
    const char *text;               /* JSON */
    const char *origin;             /* names it in messages */
    bool grows;                     /* these are training data, which add their words to it */
} reader_vocabulary;

/* Its JSON, a new reference; NULL where none is given. E_DATA. */
MUST_USE status reader_vocabulary_parse(const reader_vocabulary *v, json_t **ret, error *err);

/* How a section `dataset_reader` is to be carried out on a file. */
typedef struct reader_request {
    const config *reader;
    const char *path;
    const reader_vocabulary *vocabulary; /* NULL: none is given */
    dataset_part part;              /* (data.h) */
    bool without_labels;            /* likewise */
    /* dataset_open_as, for a reader over others. */
    status (*open)(const config *reader, const char *path, const dataset_options *options, dataset **ret, error *err);
} reader_request;

typedef struct reader_ops {
    status (*read)(const dataset *d, int64_t example, void *const *ret, error *err);
    /* Where a field has data_bytes: the same with bytes for it; else NULL. */
    status (*read_bytes)(const dataset *d, int64_t example, void *const *ret, error *err);
    /* Of dataset_read_drawn; NULL: the reader changes nothing by chance. */
    status (*read_drawn)(const dataset *d, int64_t example, const picture_draws *draws, bool as_bytes,
                         void *const *ret, error *err);
    void (*close)(dataset *d);                      /* frees the whole dataset */
    const char *(*vocabulary)(const dataset *d);    /* of dataset_vocabulary; NULL: has none */
    bool (*label_word)(const dataset *d, int64_t label, buf *to); /* likewise */
    /* Of dataset_of_epoch; NULL: epochs have the same examples. */
    int64_t (*of_epoch)(const dataset *d, int64_t epoch, int64_t place);
    /* Of dataset_word; NULL: examples are no rows of words. */
    bool (*word)(const dataset *d, int64_t example, int64_t i, buf *ret_text, int64_t *ret_place);
    /* Of dataset_example_name; NULL: examples have no names. */
    bool (*example_name)(const dataset *d, int64_t example, buf *to);
    /* Of dataset_place: appends file and line, or whatever people find it by. NULL: its name says it. */
    void (*place)(const dataset *d, int64_t example, buf *ret);
    /* Adds the memory that the dataset's examples are made from, and no more: what a file holds beside
     * them, and how it is packed, makes no difference. */
    void (*contents)(const dataset *d, content_digest *ret);
    /* Of a reader whose contents only sample its files: SHA-256 of all their bytes. NULL: contents are all. */
    void (*whole_contents)(const dataset *d, char ret_hex[SHA256_HEX]);
    /* The records that the examples are read from, one each; NULL: they are not read from records. */
    const struct record_set *(*records)(const dataset *d);
    /* Of dataset_answer_read; NULL: examples are no questions. */
    status (*answer)(const dataset *d, int64_t example, int64_t first, int64_t last, dataset_answer *ret, error *err);
} reader_ops;

/* First member of every reader's own struct. */
struct dataset {
    const reader_ops *ops;
    int64_t examples;
    int64_t first;                  /* what read knows as this is example 0 */
    size_t n_fields;
    data_field fields[DATA_FIELDS];
    size_t reading;                 /* of dataset_reading_bytes */
    uint32_t *lengths;              /* of each example that read knows; NULL: no field varies. The reader's */
};

/* What of n things the shares of a part name: first <= end. E_CONFIG. */
MUST_USE status reader_range(const dataset_part *part, int64_t n, int64_t *ret_first,
                             int64_t *ret_end, error *err);
/* Leaves of a dataset the part that is asked for; takes it over, and closes it on failure. */
MUST_USE status dataset_cut(const reader_request *request, dataset *d, dataset **ret, error *err);

typedef struct idx_reader_options {
    const char *labels;             /* path; NULL: from the images' path, by MNIST's naming */
    double mean, std;               /* of the pixels, after u8 was divided by 255 */
    int64_t classes;                /* 0: the largest label + 1 */
    bool without_labels;            /* "image" alone */
} idx_reader_options;

/* Images and labels in IDX files: "image" f32 [C,H,W] ((x/255 - mean) / std; other types than u8
 * are not divided by 255; [H,W] files have one channel, [D] files give [D]) and "label" i64 []. */
MUST_USE status idx_reader_open(const idx_reader_options *options, const char *path, dataset **ret,
                                error *err);
/* The same with the options of a section `dataset_reader`. */
MUST_USE status idx_reader_configure(const reader_request *request, dataset **ret, error *err);

typedef struct text_reader_options {
    const char *tokenizer;          /* "characters" (also if NULL), "bytes", or where a tokenizer is */
    const char *option;             /* that says so, for messages; NULL: its path stands there */
    const char *end_of_text;        /* its token behind each file; NULL: none */
    const reader_vocabulary *vocabulary; /* NULL: made from the text itself */
    int64_t context;                /* tokens of an example; >= 1 */
    int64_t stride;                 /* from the beginning of an example to the next; >= 1 */
    const dataset_part *part;       /* NULL: all of it */
} text_reader_options;

/* Text for a language model, in a file, a folder, a pattern or an archive (index/shards.h): "input_ids" i64 [context]
 * and "label" i64 [context], the token that follows each. The last tokens, too few for an example, are left out. */
MUST_USE status text_reader_open(const text_reader_options *options, const char *path,
                                 dataset **ret, error *err);
MUST_USE status text_reader_configure(const reader_request *request, dataset **ret, error *err);
bool text_reader_learns(const config *reader);
/* The two fields of such examples, `size` the number of different tokens. */
void text_reader_fields(int64_t context, int64_t size, data_field ret[2]);

typedef struct arrays_reader_options {
    const char *label;              /* the tensor of int64 whose values are classes, if there is one */
    int64_t classes;                /* 0: the largest + 1 */
    bool without_labels;            /* that tensor is left out, if it is there */
} arrays_reader_options;

/* The tensors of a safetensors file, each [examples, ...]: a field of its name and type. */
MUST_USE status arrays_reader_open(const arrays_reader_options *options, const char *path,
                                   dataset **ret, error *err);
MUST_USE status arrays_reader_configure(const reader_request *request, dataset **ret, error *err);

typedef struct csv_reader_options {
    char separator;
    bool header;                    /* the first line names the columns */
    const json_t *columns;          /* their names, a list; NULL: those of the header, or none */
    const json_t *numeric, *categorical; /* which to read, lists; NULL: none */
    const char *text, *pair;        /* which are texts (csv_texts.h); NULL: none */
    const char *tokenizer;          /* of these: its path; NULL: none */
    int64_t most;                   /* tokens of an example at most */
    bool refuses_long;              /* one of more is refused, else cut off */
    const char *label;              /* which is the label; NULL: none */
    bool without_labels;            /* it is not read; `columns` may name it though it is not there */
    bool label_is_number;           /* not a class */
    column_scaling scaling;         /* of the numeric ones */
    int64_t buckets;                /* categories are hashed into so many numbers; 0: they are not */
    const json_t *missing;          /* words that say that a value is missing, beside the empty one */
    const reader_vocabulary *vocabulary; /* NULL: made from the file itself */
} csv_reader_options;

/* Rows of a table, plain or gzip: "numeric" f32 [columns], "categorical" i64 [columns] with sizes,
 * the fields of texts, "label" i64 [] with classes or f32 []; column.h says how words become numbers. */
MUST_USE status csv_reader_open(const csv_reader_options *options, const char *path, dataset **ret,
                                error *err);
MUST_USE status csv_reader_configure(const reader_request *request, dataset **ret, error *err);
bool csv_reader_learns(const config *reader);

/* Lines of JSON, and tf.train.Examples in TFRecord files: a file, a folder, a pattern or an archive
 * (index/shards.h). The fields are those of dataset_reader.fields (record/field.h). */
MUST_USE status jsonl_reader_configure(const reader_request *request, dataset **ret, error *err);
MUST_USE status tfrecord_reader_configure(const reader_request *request, dataset **ret, error *err);
/* Likewise samples of tar files (index/samples.h): a tar, a folder or a pattern of some. */
MUST_USE status webdataset_reader_configure(const reader_request *request, dataset **ret, error *err);
bool record_reader_learns(const config *reader);

/* Questions about texts, as AllenNLP's reader of that name: files of SQuAD's form, or, where no answers are to be
 * known, lines of questions (squad/reader.c). */
MUST_USE status squad_reader_configure(const reader_request *request, dataset **ret, error *err);

/* Sentences whose words are tagged (tagging/sentences.h), in a file, a folder, a pattern or an archive: "input_ids",
 * "attention_mask", "label" and features, each i64 of up to as many tokens as the longest has. */
MUST_USE status conll2003_reader_configure(const reader_request *request, dataset **ret, error *err);
MUST_USE status universal_dependencies_reader_configure(const reader_request *request, dataset **ret, error *err);
bool tag_reader_learns(const config *reader);

/* Several readers as one (multitask/multitask_reader.c); the path is the folder that theirs are in. */
MUST_USE status multitask_reader_configure(const reader_request *request, dataset **ret, error *err);

/* Pictures in files (pictures/image_reader.c), in a folder that has a folder a class, or by a list: "image" f32 [C,H,W]
 * and "label" i64 []. */
MUST_USE status image_reader_configure(const reader_request *request, dataset **ret, error *err);
bool image_reader_learns(const config *reader);

/* Videos as folders of frames or files (videos/video_reader.c), in a folder a class or by a list, of which an example
 * is a clip: "video" f32 [C,T,H,W] or [T,C,H,W], and "label" i64 []. */
MUST_USE status video_reader_configure(const reader_request *request, dataset **ret, error *err);

enum { CHANNELS = 3 };              /* red, green, blue */

typedef struct cifar10_reader_options {
    double mean[CHANNELS], std[CHANNELS]; /* of the pixels, after they were divided by 255 */
} cifar10_reader_options;

/* CIFAR-10 in its binary form, plain or gzip: a file, or the folder of data_batch_*.bin. "image"
 * f32 [3,32,32] and "label" i64 [] of 10 classes. */
MUST_USE status cifar10_reader_open(const cifar10_reader_options *options, const char *path,
                                    dataset **ret, error *err);
MUST_USE status cifar10_reader_configure(const reader_request *request, dataset **ret, error *err);

#endif
