/*
 * TensorBoard event files: TFRecord framing (length, masked CRC-32C, data, masked CRC-32C) around
 * proto/event.proto (a minimal subset of TensorFlow's Event and Summary).
 * Threads: a writer belongs to one thread at a time.
 */
#ifndef TEQUIO_COMMON_STORE_EVENTS_H
#define TEQUIO_COMMON_STORE_EVENTS_H

#include "common/base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct events events;

/* Creates dir/events.out.tfevents.<unix>.<host>.<pid>, with a number behind when that is taken. A
 * record is in the file after events_flush, or when enough of them have gathered; what cannot be
 * written waits in memory for the next flush, and the file holds whole records only. */
MUST_USE status events_open(const char *dir, events **ret, error *err);
void events_close(events **e);
void events_scalar(events *e, int64_t step, const char *tag, float value);

/* A picture in colours that are red, green and blue, as a whole PNG file. */
void events_image(events *e, int64_t step, const char *tag, int width, int height, const void *png, size_t bytes);

/* A text, which TensorBoard reads as Markdown. */
void events_text(events *e, int64_t step, const char *tag, const char *text);

/* Precision and recall by thresholds, from 0 to 1 in equal steps: rows of counts as the metric pr_curve has them, true
 * positives, false positives, true negatives and false negatives, n of each. */
void events_pr_curve(events *e, int64_t step, const char *tag, const double *counts, size_t n);

/* A GraphDef (events_graph.h). */
void events_graph_bytes(events *e, const void *graph, size_t bytes);

/* What a plugin of TensorBoard reads: bytes of its own kind. */
void events_plugin_data(events *e, const char *tag, const char *plugin, const void *content, size_t bytes);

/* A histogram in TensorBoard's exponential buckets, filled with events_histogram_add, which leaves
 * out what is not finite. */
typedef struct events_histogram events_histogram;
events_histogram *events_histogram_create(void);
void events_histogram_destroy(events_histogram **h);
void events_histogram_clear(events_histogram *h);
void events_histogram_add(events_histogram *h, const float *values, size_t n);
/* The raw form servers send, with magic and version in front. Merging refuses, with E_DATA and `h`
 * as it was, whatever events_histogram_pack would not have made. */
size_t events_histogram_packed_bytes(void);
void events_histogram_pack(const events_histogram *h, void *ret);
MUST_USE status events_histogram_merge(events_histogram *h, const void *packed, size_t bytes,
                                       error *err);
void events_add_histogram(events *e, int64_t step, const char *tag, const events_histogram *h);
/* What has gathered goes out, unless the last try failed. */
void events_put(events *e);
MUST_USE status events_flush(events *e, error *err);
size_t events_waiting(const events *e); /* bytes that no flush has written yet */
/* What was flushed outlives the machine. */
MUST_USE status events_sync(events *e, error *err);

/* Reading. */
typedef enum event_kind { EVENT_VERSION, EVENT_SCALAR, EVENT_HISTOGRAM, EVENT_TEXT } event_kind;

typedef struct event_record {
    double wall_time;
    int64_t step;
    const char *tag;           /* NULL for the file_version record */
    event_kind kind;
    double value;              /* scalar */
    double min, max, num, sum; /* histogram */
    size_t n_buckets;          /* of it */
    const double *limits;      /* [n_buckets] each bucket's upper end, as the file has it, */
    const double *counts;      /* [n_buckets] and what lies in it */
    const void *text;          /* of `bytes` bytes */
    size_t bytes;
} event_record;
typedef status events_visit(void *user, const event_record *r, error *err);
/* A torn last record (a writer is at work) ends the walk without error. E_DATA names the offset. A
 * status other than OK from `visit` ends the walk and is returned. */
MUST_USE status events_read(const char *path, events_visit *visit, void *user, error *err);

/* Going back, while nobody writes: scalars of steps beyond `scalars` and everything else of steps
 * beyond `others` leave every event file in `dir`, and so does half a record at an end. A file that
 * does not begin with a record is not touched. */
typedef struct events_bounds {
    int64_t scalars, others;
} events_bounds;
MUST_USE status events_rewind(const char *dir, const events_bounds *until, error *err);
/* The highest step of the scalars `tag` in the event files in `dir`; -1: there are none. */
MUST_USE status events_last_step(const char *dir, const char *tag, int64_t *ret_step, error *err);

#endif
