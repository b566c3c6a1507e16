#include "data/csv_texts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "data/index/parallel.h"

#include <stdlib.h>
#include <string.h>

enum { IDS, TYPES, FIRST, CUT, ARRAYS };
enum { ROUND = 256, ROUNDS = 32 }; /* rows that one round reads, and rounds of a batch of rows */

status csv_texts_open(csv_texts *t, const text_encoder_options *options, error *err)
{
    t->most = options->most;
    return text_encoder_open(options, &t->encoder, err);
}

void csv_texts_fini(csv_texts *t)
{
    text_encoder_destroy(&t->encoder);
    kept_arrays_close(&t->kept);
    *t = (csv_texts){.encoder = NULL};
}

static size_t fields_of(const csv_texts *t)
{
    data_field ignored[TEXT_FIELDS];
    return text_encoder_fields(t->encoder, ignored);
}

/* --- making --- */

typedef struct text_row {
    const char *origin;
    size_t line, at[CSV_TEXTS];     /* at: in the batch's texts */
} text_row;

/* The tokens of a round's rows. */
typedef struct row_tokens {
    int32_t *ids;
    uint8_t *types;
    size_t n, ids_cap, types_cap, lengths[ROUND], n_cut;
} row_tokens;

struct csv_texts_maker {
    const csv_texts *t;
    buf texts;                      /* of the rows that wait, each ended by a zero */
    text_row *waiting;              /* [ROUND * ROUNDS] */
    size_t n_waiting;
    row_tokens rounds[ROUNDS];
    row_tokens all;                 /* without lengths */
    uint64_t *first;
    size_t rows, first_cap;
};

static void keep(row_tokens *to, void *const *row, size_t n, bool has_types)
{
    const int64_t *ids = row[0], *types = has_types ? row[2] : NULL;
    GROW(to->ids, to->ids_cap, to->n + n);
    GROW(to->types, to->types_cap, to->n + n);
    for (size_t i = 0; i < n; i++) {
        to->ids[to->n] = (int32_t)ids[i];
        to->types[to->n++] = types ? (uint8_t)types[i] : 0;
    }
}

static status take_row(const csv_texts_maker *m, const text_row *row, void *const *room, size_t *ret_n,
                       size_t *ret_whole, error *err)
{
    tokenizer_input texts[CSV_TEXTS];
    for (size_t i = 0; i < CSV_TEXTS; i++) {
        texts[i].text = m->texts.data + row->at[i];
        texts[i].bytes = strlen(texts[i].text);
    }
    TRYF(text_encoder_take(m->t->encoder, &texts[0], m->t->columns[1].name ? &texts[1] : NULL, room, ret_n, ret_whole,
                           err), err, "'%s': line %zu: column '%s'", row->origin, row->line, m->t->columns[0].name);
    return OK;
}

static status take_rows(csv_texts_maker *m, size_t round, void *const *room, error *err)
{
    row_tokens *to = &m->rounds[round];
    bool has_types = fields_of(m->t) == TEXT_FIELDS;
    to->n = to->n_cut = 0;
    for (size_t i = round * ROUND, whole; i < (round + 1) * ROUND && i < m->n_waiting; i++) {
        size_t *n = &to->lengths[i - round * ROUND];
        TRY(take_row(m, &m->waiting[i], room, n, &whole, err));
        to->n_cut += whole > *n;
        keep(to, room, *n, has_types);
    }
    return OK;
}

static status make_round(void *user, size_t round, error *err)
{
    csv_texts_maker *m = user;
    void *room[TEXT_FIELDS] = {NULL};
    status st = OK;
    for (size_t i = 0; i < TEXT_FIELDS && st == OK; i++)
        st = mem_alloc((size_t)m->t->most * sizeof(int64_t), "the tokens of a text", &room[i], err);
    if (st == OK)
        st = take_rows(m, round, room, err);
    for (size_t i = 0; i < TEXT_FIELDS; i++)
        mem_free(room[i]);
    return st;
}

static void append(csv_texts_maker *m, const row_tokens *from, size_t rows)
{
    row_tokens *all = &m->all;
    GROW(all->ids, all->ids_cap, all->n + from->n);
    GROW(all->types, all->types_cap, all->n + from->n);
    if (from->n > 0) {
        memcpy(all->ids + all->n, from->ids, from->n * sizeof *all->ids);
        memcpy(all->types + all->n, from->types, from->n);
    }
    all->n += from->n;
    all->n_cut += from->n_cut;
    GROW(m->first, m->first_cap, m->rows + rows + 1);
    for (size_t i = 0; i < rows; i++, m->rows++)
        m->first[m->rows + 1] = m->first[m->rows] + from->lengths[i];
}

/* Those that wait. */
static status take_waiting(csv_texts_maker *m, error *err)
{
    size_t rounds = (m->n_waiting + ROUND - 1) / ROUND;
    TRY(parallel_for(rounds, 0, make_round, m, err));
    for (size_t i = 0; i < rounds; i++)
        append(m, &m->rounds[i], i + 1 < rounds ? (size_t)ROUND : m->n_waiting - i * ROUND);
    m->n_waiting = 0;
    buf_clear(&m->texts);
    return OK;
}

status csv_texts_add(csv_texts_maker *m, const csv *row, error *err)
{
    text_row *to = &m->waiting[m->n_waiting++];
    *to = (text_row){.origin = row->origin, .line = row->row_line};
    for (size_t i = 0; i < CSV_TEXTS && m->t->columns[i].name; i++) {
        const char *cell = csv_cell(row, m->t->columns[i].place);
        to->at[i] = m->texts.size;
        buf_add(&m->texts, cell, strlen(cell) + 1);
    }
    return m->n_waiting < (size_t)ROUND * ROUNDS ? OK : take_waiting(m, err);
}

static void maker_init(csv_texts_maker *m, const csv_texts *t)
{
    *m = (csv_texts_maker){.t = t, .texts = BUF_INIT, .waiting = xcalloc((size_t)ROUND * ROUNDS, sizeof *m->waiting)};
    GROW(m->first, m->first_cap, 1);
    m->first[0] = 0;
}

static void row_tokens_fini(row_tokens *r)
{
    free(r->ids);
    free(r->types);
}

static void maker_fini(csv_texts_maker *m)
{
    for (size_t i = 0; i < ROUNDS; i++)
        row_tokens_fini(&m->rounds[i]);
    row_tokens_fini(&m->all);
    buf_fini(&m->texts);
    free(m->waiting);
    free(m->first);
}

typedef struct making {
    const csv_texts *t;
    const csv_texts_source *source;
} making;

static status write_all(kept_writer *w, const csv_texts_maker *m, error *err)
{
    const uint64_t cut = m->all.n_cut;
    TRY(kept_write(w, IDS, m->all.ids, m->all.n, err));
    TRY(kept_write(w, TYPES, m->all.types, m->all.n, err));
    TRY(kept_write(w, FIRST, m->first, m->rows + 1, err));
    return kept_write(w, CUT, &cut, 1, err);
}

static status make(void *user, kept_writer *w, error *err)
{
    const making *k = user;
    csv_texts_maker *m = xmalloc(sizeof *m);
    maker_init(m, k->t);
    status st = k->source->each(k->source->user, m, err);
    if (st == OK)
        st = take_waiting(m, err);
    if (st == OK)
        st = write_all(w, m, err);
    maker_fini(m);
    free(m);
    return st;
}

/* --- taking --- */

static bool is_sound(const void *user, const kept_arrays *a)
{
    const making *k = user;
    const uint64_t *first = a->at[FIRST].at;
    const int32_t *ids = a->at[IDS].at;
    size_t rows = k->source->rows, n = a->at[IDS].n;
    data_field fields[TEXT_FIELDS];
    text_encoder_fields(k->t->encoder, fields);
    bool good = a->at[FIRST].n == rows + 1 && a->at[TYPES].n == n && a->at[CUT].n == 1 && first[0] == 0;
    for (size_t i = 0; i < rows && good; i++)
        good = first[i] <= first[i + 1] && first[i + 1] - first[i] <= (uint64_t)k->t->most;
    good = good && first[rows] == n;
    for (size_t i = 0; i < n && good; i++)
        good = ids[i] >= 0 && ids[i] < fields[0].tokens;
    return good;
}

status csv_texts_make(csv_texts *t, const csv_texts_source *source, error *err)
{
    int64_t began_us = clock_us();
    making k = {.t = t, .source = source};
    const kept_recipe recipe = {
        .what = "texts",
        .of = source->path,
        .source_bytes = shards_bytes(source->files),
        .n = ARRAYS,
        .width = {[IDS] = sizeof(int32_t), [TYPES] = 1, [FIRST] = sizeof(uint64_t), [CUT] = sizeof(uint64_t)},
        .make = make,
        .is_sound = is_sound,
        .user = &k};
    cache_key key;
    buf made = BUF_INIT;
    buf_addf(&made, "csv texts 1\n%s\n", source->options);
    text_encoder_describe(t->encoder, &made);
    shards_key(source->files, made.data, &key);
    buf_fini(&made);
    TRY(kept_arrays_open(&key, &recipe, &t->kept, err));
    text_encoder_rest(t->encoder);
    t->ids = t->kept.at[IDS].at;
    t->types = t->kept.at[TYPES].at;
    t->first = t->kept.at[FIRST].at;
    t->n_cut = *(const uint64_t *)t->kept.at[CUT].at;
    t->rows = source->rows;
    LOG_I("TEXTS", "path=%s rows=%zu tokens=%zu made=%d heap_bytes=%zu seconds=%.3f", source->path, t->rows,
          t->kept.at[IDS].n, t->kept.is_new, kept_arrays_heap_bytes(&t->kept, &recipe),
          (double)(clock_us() - began_us) * 1e-6);
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
