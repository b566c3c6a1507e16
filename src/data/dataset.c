/* Datasets of every kind: forwards to their readers. */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/utf8.h"
#include "data/index/record_set.h"

#include <string.h>

status reader_vocabulary_parse(const reader_vocabulary *v, json_t **ret, error *err)
{
    *ret = NULL;
    return v ? json_parse(v->text, strlen(v->text), v->origin, E_DATA, ret, err) : OK;
}

const char *dataset_vocabulary(const dataset *d)
{
    return d->ops->vocabulary ? d->ops->vocabulary(d) : NULL;
}

bool dataset_label_word(const dataset *d, int64_t label, buf *to)
{
    return d->ops->label_word && d->ops->label_word(d, label, to);
}

bool dataset_example_name(const dataset *d, int64_t example, buf *to)
{
    return d->ops->example_name && d->ops->example_name(d, d->first + example, to);
}

bool dataset_word(const dataset *d, int64_t example, int64_t i, buf *ret_text, int64_t *ret_place)
{
    return d->ops->word && d->ops->word(d, d->first + example, i, ret_text, ret_place);
}

static status cut(const reader_request *request, dataset *d, error *err)
{
    const dataset_part *part = &request->part;
    int64_t first = 0, end = 0;
    TRY(reader_range(part, d->examples, &first, &end, err));
    if (part->limit > 0 && part->limit < end - first)
        end = first + part->limit;
    if (first == end)
        return FAIL(err, E_DATA, "'%s': range [%g, %g] leaves none of %lld examples",
                    request->path, part->from, part->to, (long long)d->examples);
    d->first = first;
    d->examples = end - first;
    return OK;
}

status dataset_cut(const reader_request *request, dataset *d, dataset **ret, error *err)
{
    status st = cut(request, d, err);
    if (st == OK)
        *ret = d;
    else
        dataset_close(&d);
    return st;
}

status reader_range(const dataset_part *part, int64_t n, int64_t *ret_first, int64_t *ret_end,
                    error *err)
{
    if (part->from >= part->to)
        return FAIL(err, E_CONFIG, "range [%g, %g] holds nothing; expected a lower share first",
                    part->from, part->to);
    *ret_first = (int64_t)((double)n * part->from);
    *ret_end = (int64_t)((double)n * part->to);
    return OK;
}

void dataset_close(dataset **d)
{
    if (*d)
        (*d)->ops->close(*d);
    *d = NULL;
}

int64_t dataset_examples(const dataset *d)
{
    return d->examples;
}

const data_field *dataset_fields(const dataset *d, size_t *ret_n)
{
    *ret_n = d->n_fields;
    return d->fields;
}

int64_t dataset_bytes_read(const dataset *d)
{
    return d->ops->records ? record_set_bytes_read(d->ops->records(d)) : 0;
}

size_t dataset_reading_bytes(const dataset *d)
{
    return d->reading;
}

const uint32_t *dataset_lengths(const dataset *d)
{
    return d->lengths ? d->lengths + d->first : NULL;
}

bool dataset_asks(const dataset *d)
{
    return d->ops->answer != NULL;
}

status dataset_answer_read(const dataset *d, int64_t example, int64_t first, int64_t last, dataset_answer *ret,
                           error *err)
{
    BUG_ON(!d->ops->answer || example < 0 || example >= d->examples);
    return d->ops->answer(d, d->first + example, first, last, ret, err);
}

void dataset_answer_fini(dataset_answer *a)
{
    arena_destroy(&a->memory);
}

void data_fields_of_length(const data_field *fields, size_t n, int64_t length, data_field *ret)
{
    for (size_t i = 0; i < n; i++) {
        ret[i] = fields[i];
        if (length && fields[i].varies)
            ret[i].dim[0] = length;
    }
}

/* The reader has checked the product against its file. */
int64_t data_field_elements(const data_field *f)
{
    int64_t n = 1;
    for (int32_t i = 0; i < f->rank; i++)
        n *= f->dim[i];
    return n;
}

size_t data_field_bytes(const data_field *f)
{
    return (size_t)data_field_elements(f) * dtype_bytes(f->dtype);
}

/* From the last: a float32 is longer than its byte. */
void data_bytes_spread(const data_field *f, void *example)
{
    const unsigned char *bytes = example;
    float *out = example;
    size_t channels = (size_t)f->bytes.channels, inner = (size_t)data_field_elements(f) / channels;
    for (size_t c = channels; c-- > 0;)
        for (size_t i = (c + 1) * inner; i-- > c * inner;)
            out[i] = (float)bytes[i] * f->bytes.scale[c] + f->bytes.offset[c];
}

int64_t dataset_of_epoch(const dataset *d, int64_t epoch, int64_t place)
{
    return d->ops->of_epoch ? d->ops->of_epoch(d, epoch, place) : place;
}

/* Those of later epochs are counted on. */
static void check_example(const dataset *d, int64_t example)
{
    BUG_ON(example < 0 || (example >= d->examples && !d->ops->of_epoch));
}

static void name_place(const dataset *d, int64_t example, buf *ret)
{
    buf_adds(ret, "'");
    if (!dataset_example_name(d, example, ret))
        BUG("examples have neither a place nor a name");
    buf_adds(ret, "'");
}

void dataset_place(const dataset *d, int64_t example, buf *ret)
{
    buf text = BUF_INIT;
    uint32_t code;
    check_example(d, example);
    if (d->ops->place)
        d->ops->place(d, d->first + example, &text);
    else
        name_place(d, example, &text);
    for (size_t at = 0, n; at < text.size; at += n ? n : 1) {
        n = utf8_decode((const unsigned char *)text.data + at, text.size - at, &code);
        buf_add(ret, n ? text.data + at : "?", n ? n : 1);
    }
    buf_fini(&text);
}

status dataset_read(const dataset *d, int64_t example, void *const *ret, error *err)
{
    check_example(d, example);
    return d->ops->read(d, d->first + example, ret, err);
}

status dataset_read_bytes(const dataset *d, int64_t example, void *const *ret, error *err)
{
    check_example(d, example);
    return (d->ops->read_bytes ? d->ops->read_bytes : d->ops->read)(d, d->first + example, ret,
                                                                    err);
}

status dataset_read_drawn(const dataset *d, int64_t example, const picture_draws *draws, bool as_bytes,
                          void *const *ret, error *err)
{
    if (!d->ops->read_drawn)
        return (as_bytes ? dataset_read_bytes : dataset_read)(d, example, ret, err);
    check_example(d, example);
    return d->ops->read_drawn(d, d->first + example, draws, as_bytes, ret, err);
}
