/* See column.h. */
#include "data/column.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"
#include "common/base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MISSING = -1 };

status column_begin(column *c, size_t rows, error *err)
{
    bool is_number = c->kind == COLUMN_NUMBER;
    size_t bytes;
    void *memory = NULL;
    if (!size_mul(rows, is_number ? sizeof *c->numbers : sizeof *c->ids, &bytes))
        return FAIL(err, E_NOMEM, "column '%s': %zu rows are more than memory", c->name, rows);
    TRYF(mem_alloc(bytes, "a column of a table", &memory, err), err, "column '%s'", c->name);
    if (is_number)
        c->numbers = memory;
    else
        c->ids = memory;
    if (!c->words)
        c->words = words_create();
    return OK;
}

void column_fini(column *c)
{
    mem_free(c->numbers);
    mem_free(c->ids);
    words_destroy(&c->words);
}

/* --- vocabularies --- */

static status load_scale(column *c, const json_t *vocabulary, const char *origin, error *err)
{
    double mean = json_number_value(json_array_get(vocabulary, 0));
    double deviation = json_number_value(json_array_get(vocabulary, 1));
    if (json_array_size(vocabulary) != 2 || !(deviation > 0.0))
        return FAIL(err, E_DATA,
                    "'%s': says no mean and no deviation of column '%s'; expected a list of both",
                    origin, c->name);
    c->mean = mean;
    c->deviation = deviation;
    return OK;
}

static status load_words(column *c, const json_t *vocabulary, const char *origin, error *err)
{
    size_t n = json_array_size(vocabulary);
    c->words = words_create();
    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(vocabulary, i));
        if (!word || (size_t)words_add(c->words, word) != i)
            return FAIL(err, E_DATA, "'%s': word %zu of column '%s' is no string, or not the first",
                        origin, i, c->name);
    }
    if (!json_is_array(vocabulary))
        return FAIL(err, E_DATA, "'%s': has no list of words for column '%s'", origin, c->name);
    return OK;
}

static bool has_vocabulary(const column *c)
{
    return c->kind == COLUMN_NUMBER ? c->scaling == SCALING_STANDARDIZE : c->buckets == 0;
}

status column_load(column *c, const json_t *vocabulary, const char *origin, error *err)
{
    c->is_given = true;
    if (!has_vocabulary(c))
        return OK;
    return c->kind == COLUMN_NUMBER ? load_scale(c, vocabulary, origin, err)
                                    : load_words(c, vocabulary, origin, err);
}

json_t *column_vocabulary(const column *c)
{
    if (!has_vocabulary(c))
        return NULL;
    if (c->kind == COLUMN_NUMBER)
        return json_pack("[f, f]", c->mean, c->deviation);
    json_t *list = json_array();
    for (int32_t i = 0; i < words_count(c->words); i++)
        json_array_append_new(list, json_string(words_at(c->words, i)));
    return list;
}

int64_t column_size(const column *c)
{
    int64_t n = c->buckets ? c->buckets : words_count(c->words);
    return c->kind == COLUMN_CLASS ? n : n + 1;
}

/* --- words --- */

static status take_number(column *c, size_t row, const char *word, error *err)
{
    char *end = NULL;
    double x = word ? strtod(word, &end) : (double)NAN;
    if (word && (end == word || *end || !isfinite((float)x)))
        return FAIL(err, E_DATA, "column '%s': '%s' is no finite number", c->name, word);
    c->numbers[row] = (float)x;
    return OK;
}

/* Missing words, and those that a given vocabulary lacks, are MISSING. */
static status take_word(column *c, size_t row, const char *word, error *err)
{
    if (word && !utf8_valid(word))
        return FAIL(err, E_DATA, "column '%s': a word that is not UTF-8", c->name);
    int32_t id = MISSING;
    if (word && c->buckets)
        id = (int32_t)(words_hash(word) % (uint64_t)c->buckets);
    else if (word)
        id = c->is_given ? words_find(c->words, word) : words_add(c->words, word);
    if (id == MISSING && c->kind == COLUMN_CLASS)
        return FAIL(err, E_DATA, "column '%s': %s%s%s", c->name, word ? "label '" : "the label",
                    word ? word : " is missing", word ? "' is none of the training data's" : "");
    c->ids[row] = id;
    return OK;
}

status column_take(column *c, size_t row, const char *word, error *err)
{
    return c->kind == COLUMN_NUMBER ? take_number(c, row, word, err)
                                    : take_word(c, row, word, err);
}

/* --- behind the last row --- */

/* In double and in the order of the rows: the same bits everywhere. */
static void learn_scale(column *c, size_t rows)
{
    double sum = 0.0, squares = 0.0, n = 0.0;
    for (size_t i = 0; i < rows; i++)
        if (!isnan(c->numbers[i])) {
            sum += (double)c->numbers[i];
            n += 1.0;
        }
    c->mean = n > 0.0 ? sum / n : 0.0;
    for (size_t i = 0; i < rows; i++)
        if (!isnan(c->numbers[i]))
            squares += ((double)c->numbers[i] - c->mean) * ((double)c->numbers[i] - c->mean);
    c->deviation = squares > 0.0 ? det_sqrt(squares / n) : 1.0;
}

static double scaled(const column *c, double x)
{
    if (c->scaling == SCALING_STANDARDIZE)
        return (x - c->mean) / c->deviation;
    if (c->scaling == SCALING_LOG)
        return x < 0.0 ? -det_log(1.0 - x) : det_log(1.0 + x);
    return x;
}

static void finish_numbers(column *c, size_t rows)
{
    if (c->scaling == SCALING_STANDARDIZE && !c->is_given)
        learn_scale(c, rows);
    for (size_t i = 0; i < rows; i++)
        c->numbers[i] = isnan(c->numbers[i]) ? 0.0f : (float)scaled(c, (double)c->numbers[i]);
}

void column_finish(column *c, size_t rows)
{
    if (c->kind == COLUMN_NUMBER) {
        finish_numbers(c, rows);
        return;
    }
    if (!c->buckets && !c->is_given) {
        int32_t *places = xmalloc(((size_t)words_count(c->words) + 1) * sizeof *places);
        words_sort(c->words, places);
        for (size_t i = 0; i < rows; i++)
            c->ids[i] = c->ids[i] == MISSING ? MISSING : places[c->ids[i]];
        free(places);
    }
    if (c->kind == COLUMN_CATEGORY)
        for (size_t i = 0; i < rows; i++)
            c->ids[i]++;
}
