/* See arc_rows.h. */
#include "model/arc_rows.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "metric/arcs.h"

#include <stdlib.h>
#include <string.h>

enum { TRUE_HEADS, TRUE_TAGS, PARTS_OF_SPEECH, HEADS, TAGS };

static const char pos_field[] = "pos_tags";

/* What the vocabulary of the data has for the field. */
static const char *const *words_of(const dataset *d, const char *field, arena *a, int64_t *ret_n)
{
    const char *text = dataset_vocabulary(d), **words = NULL;
    json_t *whole = text ? json_loads(text, 0, NULL) : NULL;
    const json_t *list = json_object_get(json_object_get(whole, "tags"), field);
    *ret_n = (int64_t)json_array_size(list);
    words = *ret_n ? arena_alloc(a, (size_t)*ret_n * sizeof *words) : NULL;
    for (int64_t i = 0; i < *ret_n; i++)
        words[i] = arena_strdup(a, json_string_value(json_array_get(list, (size_t)i)));
    json_decref(whole);
    return words;
}

static const data_field *find_field(const dataset *d, const char *name)
{
    size_t n;
    const data_field *fields = dataset_fields(d, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

void arc_rows_open(const dataset *d, const model_loss *loss, int64_t row, arena *a, arc_rows *ret)
{
    const data_field *pos = find_field(d, pos_field);
    bool has_pos = pos && pos->dtype == DT_I64 && pos->rank == 1;
    *ret = (arc_rows){.data = d,
                      .heads = loss->label[0]->name,
                      .tags = loss->label[1]->name,
                      .parts_of_speech = has_pos ? pos_field : NULL,
                      .ignore_index = loss->ignore_index,
                      .row = row};
    if (has_pos)
        ret->pos_words = words_of(d, pos_field, a, &ret->n_pos_words);
}

void arc_rows_fini(arc_rows *r)
{
    for (size_t i = 0; i < COUNT_OF(r->labels); i++)
        free(r->labels[i]);
    free(r->scores);
    free(r->is_word);
    *r = (arc_rows){.data = NULL};
}

void arc_rows_words(const dataset *d, int64_t example, int64_t places, unsigned char *ret_is_word)
{
    buf text = BUF_INIT;
    int64_t place = 0, n = 0;
    memset(ret_is_word, 0, (size_t)places);
    for (; dataset_word(d, example, n, &text, &place); n++)
        if (place >= 0 && place < places)
            ret_is_word[place] = 1;
    buf_fini(&text);
    if (n == 0)
        memset(ret_is_word, 1, (size_t)places);
}

/* --- batches --- */

static const int64_t *field_of(const data_batch *batch, const char *name)
{
    for (size_t i = 0; name && i < batch->n_fields; i++)
        if (strcmp(batch->fields[i].name, name) == 0)
            return batch->data[i];
    BUG("the data have no field '%s'", name ? name : "");
}

/* [examples, has] becomes [examples, row]. */
static void copy_labels(const arc_rows *r, const int64_t *from, int64_t examples, int64_t has, int64_t filler,
                        int64_t *to)
{
    for (int64_t i = 0; i < examples * r->row; i++)
        to[i] = i % r->row < has ? from[i / r->row * has + i % r->row] : filler;
}

/* Fields count parts of speech from 1. */
static void copy_parts_of_speech(const arc_rows *r, const data_batch *batch, int64_t has)
{
    int64_t *to = r->labels[PARTS_OF_SPEECH];
    copy_labels(r, field_of(batch, r->parts_of_speech), batch->slot.n, has, 0, to);
    for (int64_t i = 0; i < batch->slot.n * r->row; i++)
        to[i]--;
}

/* What the scores of an example say of its words, in its row. */
static void decode(arc_rows *r, int64_t example, const arc_scores *s, int64_t row)
{
    int64_t at = row * r->row;
    if (!r->by_labels)
        arc_rows_words(r->data, example, s->places, r->is_word);
    for (int64_t i = 0; i < s->places && r->by_labels; i++)
        r->is_word[i] = r->labels[TRUE_HEADS][at + i] != r->ignore_index;
    arcs_decode(s, r->is_word, r->labels[HEADS] + at, r->labels[TAGS] + at, r->scores + at);
    for (int64_t i = at + s->places; i < at + r->row; i++) {
        r->labels[HEADS][i] = r->labels[TAGS][i] = ARC_NO_HEAD;
        r->scores[i] = 0.0f;
    }
}

static void make_room(arc_rows *r, size_t n)
{
    if (n <= r->cap)
        return;
    r->cap = n;
    for (size_t i = 0; i < COUNT_OF(r->labels); i++)
        r->labels[i] = xrealloc(r->labels[i], n * sizeof **r->labels);
    r->scores = xrealloc(r->scores, n * sizeof *r->scores);
    r->is_word = xrealloc(r->is_word, (size_t)r->row);
}

void arc_rows_take(arc_rows *r, const data_batch *batch, const graph_value *heads, const float *of_heads,
                   const graph_value *tags, const float *of_tags, metric_batch *ret)
{
    int64_t examples = batch->slot.n, has = heads->shape.dim[1];
    arc_scores s = {.places = has,
                    .tags_of_heads = tags->shape.rank == 4,
                    .n_tags = tags->shape.dim[tags->shape.rank - 1]};
    make_room(r, (size_t)(examples * r->row));
    copy_labels(r, field_of(batch, r->heads), examples, has, r->ignore_index, r->labels[TRUE_HEADS]);
    copy_labels(r, field_of(batch, r->tags), examples, has, r->ignore_index, r->labels[TRUE_TAGS]);
    if (r->parts_of_speech)
        copy_parts_of_speech(r, batch, has);
    for (int64_t i = 0; i < examples; i++) {
        s.heads = of_heads + i * has * (has + 1);
        s.tags = of_tags + i * has * (s.tags_of_heads ? has + 1 : 1) * s.n_tags;
        decode(r, batch->slot.first + i, &s, i);
    }
    *ret = (metric_batch){.first = batch->slot.first,
                          .examples = examples,
                          .scores = r->scores,
                          .predicted = r->labels[HEADS],
                          .labels = r->labels[TRUE_HEADS],
                          .predicted_tags = r->labels[TAGS],
                          .tags = r->labels[TRUE_TAGS],
                          .parts_of_speech = r->parts_of_speech ? r->labels[PARTS_OF_SPEECH] : NULL};
}
