#include "data/csv_texts.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

status csv_texts_open(csv_texts *t, const text_encoder_options *options, error *err)
{
    TRY(text_encoder_open(options, &t->encoder, err));
    t->most = options->most;
    for (size_t i = 0; i < TEXT_FIELDS; i++)
        TRY(mem_alloc((size_t)t->most * sizeof(int64_t), "the tokens of a text", &t->row[i], err));
    GROW(t->first, t->first_cap, 1);
    t->first[0] = 0;
    return OK;
}

void csv_texts_fini(csv_texts *t)
{
    text_encoder_destroy(&t->encoder);
    for (size_t i = 0; i < TEXT_FIELDS; i++)
        mem_free(t->row[i]);
    free(t->ids);
    free(t->types);
    free(t->first);
    *t = (csv_texts){.encoder = NULL};
}

static size_t fields_of(const csv_texts *t)
{
    data_field ignored[TEXT_FIELDS];
    return text_encoder_fields(t->encoder, ignored);
}

static void keep(csv_texts *t, size_t tokens)
{
    const int64_t *ids = t->row[0], *types = fields_of(t) == TEXT_FIELDS ? t->row[2] : NULL;
    GROW(t->ids, t->ids_cap, t->n + tokens);
    GROW(t->types, t->types_cap, t->n + tokens);
    for (size_t i = 0; i < tokens; i++) {
        t->ids[t->n] = (int32_t)ids[i];
        t->types[t->n++] = types ? (uint8_t)types[i] : 0;
    }
    GROW(t->first, t->first_cap, t->rows + 2);
    t->first[++t->rows] = t->n;
}

status csv_texts_take(csv_texts *t, const csv *row, error *err)
{
    tokenizer_input texts[CSV_TEXTS];
    size_t tokens = 0, whole = 0;
    for (size_t i = 0; i < CSV_TEXTS && t->columns[i].name; i++) {
        const char *cell = csv_cell(row, t->columns[i].place);
        texts[i] = (tokenizer_input){.text = cell, .bytes = strlen(cell)};
    }
    TRYF(text_encoder_take(t->encoder, &texts[0], t->columns[1].name ? &texts[1] : NULL, t->row, &tokens, &whole, err),
         err, "column '%s'", t->columns[0].name);
    t->n_cut += whole > tokens;
    keep(t, tokens);
    return OK;
}

uint32_t csv_texts_length(const csv_texts *t, size_t row)
{
    return (uint32_t)(t->first[row + 1] - t->first[row]);
}

size_t csv_texts_read(const csv_texts *t, size_t row, void *const *ret)
{
    size_t first = t->first[row], n = csv_texts_length(t, row), fields = fields_of(t);
    text_encoder_put(t->encoder, t->ids + first, NULL, n, ret);
    int64_t *types = fields == TEXT_FIELDS ? ret[2] : NULL;
    for (size_t i = 0; types && i < n; i++)
        types[i] = t->types[first + i];
    return fields;
}

void csv_texts_contents(const csv_texts *t, size_t row, size_t rows, content_digest *ret)
{
    size_t first = t->first[row], n = t->first[row + rows] - first;
    content_digest_add(ret, t->ids + first, n * sizeof *t->ids);
    content_digest_add(ret, t->types + first, n * sizeof *t->types);
    content_digest_add(ret, t->first + row, (rows + 1) * sizeof *t->first);
}
