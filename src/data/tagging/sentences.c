/* See sentences.h. */
#include "data/tagging/sentences.h"

#include "common/base/alloc.h"
#include "common/base/read_progress.h"
#include "common/base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const sentence_format sentences_conll2003 = {
    .type = "conll2003",
    .n_columns = 4,
    .columns = "word, part of speech, chunk, name",
    .tags = {{"ner", 3, true}, {"pos", 1, false}, {"chunk", 2, true}},
};

const sentence_format sentences_universal_dependencies = {
    .type = "universal_dependencies",
    .n_columns = 10,
    .word = 1,
    .has_tabs = true,
    .is_numbered = true,
    .head = 6,
    .columns = "of CoNLL-U, parted by tabs",
    .tags = {{"upos", 3, false}, {"xpos", 4, false}, {"head", 7, false}},
};

const tag_kind *sentence_format_tag(const sentence_format *f, const char *name)
{
    for (size_t i = 0; i < TAG_KINDS && f->tags[i].name; i++)
        if (strcmp(f->tags[i].name, name) == 0)
            return &f->tags[i];
    return NULL;
}

/* Tags of the sentence that is read, of all columns. */
typedef struct reading {
    sentences *to;
    const sentence_format *format;
    const record_source *file;
    const tag_column *columns;
    size_t n_columns;
    tag_text *tags[TAG_KINDS];      /* [cap] */
    size_t cap;
    size_t first;                   /* its first word */
    uint32_t line;
    buf name;
} reading;

static status fail_line(const reading *r, uint32_t line, const char *what, error *err)
{
    return FAIL(err, E_DATA, "'%s': line %u: %s", r->file->name, line, what);
}

/* --- a line --- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Cuts a line into at most SENTENCE_COLUMNS + 1 columns. */
static int cut_columns(const sentence_format *f, const char *line, size_t bytes, tag_text *ret)
{
    int n = 0;
    size_t at = 0;
    while (n <= SENTENCE_COLUMNS) {
        while (!f->has_tabs && at < bytes && is_blank(line[at]))
            at++;
        if (!f->has_tabs && at == bytes)
            return n;
        size_t from = at;
        while (at < bytes && (f->has_tabs ? line[at] != '\t' : !is_blank(line[at])))
            at++;
        ret[n++] = (tag_text){line + from, (uint32_t)(at - from)};
        if (at++ >= bytes)
            return n;
    }
    return n;
}

static status check_utf8(const reading *r, const char *line, size_t bytes, error *err)
{
    uint32_t code = 1;
    for (size_t at = 0, n; at < bytes; at += n) {
        n = utf8_decode((const unsigned char *)line + at, bytes - at, &code);
        if (n == 0 || code == 0)
            return FAIL(err, E_DATA, "'%s': line %u: byte %zu of the line (%02x) begins no character of UTF-8 text",
                        r->file->name, r->line, at, (unsigned)(unsigned char)line[at]);
    }
    return OK;
}

/* Is it the number of the next word? *ret_left_out: it numbers none that counts. */
static status check_number(const reading *r, const tag_text *number, bool *ret_left_out, error *err)
{
    char digits[16], expected[16];
    size_t next = r->to->n_words - r->first + 1;
    snprintf(digits, sizeof digits, "%.*s", (int)number->bytes, number->text);
    snprintf(expected, sizeof expected, "%zu", next);
    size_t n = strspn(digits, "0123456789");
    *ret_left_out = n > 0 && (digits[n] == '-' || digits[n] == '.');
    if (*ret_left_out || strcmp(digits, expected) == 0)
        return OK;
    return FAIL(err, E_DATA, "'%s': line %u: '%s' numbers a word; expected %zu, or a part of it as %zu-%zu",
                r->file->name, r->line, digits, next, next, next + 1);
}

static status check_columns(const reading *r, const tag_text *columns, int n, error *err)
{
    const sentence_format *f = r->format;
    int wanted = r->n_columns ? f->n_columns : f->word + 1;
    if (n < wanted || n > f->n_columns)
        return FAIL(err, E_DATA, "'%s': line %u: has %d column%s; expected %d: %s", r->file->name, r->line, n,
                    n == 1 ? "" : "s", f->n_columns, f->columns);
    if (columns[f->word].bytes == 0)
        return fail_line(r, r->line, "the word is empty", err);
    for (size_t i = 0; i < r->n_columns; i++) {
        const tag_kind *k = r->columns[i].kind;
        const tag_text *t = &columns[k->column];
        if (t->bytes == 0)
            return FAIL(err, E_DATA, "'%s': line %u: the tag '%s' is empty", r->file->name, r->line, k->name);
        if (k->is_coded && !coding_scheme_knows(t))
            return FAIL(err, E_DATA,
                        "'%s': line %u: the tag '%.*s' is neither O nor one of the letters B, I, L, U, '-' and a label",
                        r->file->name, r->line, (int)t->bytes, t->text);
    }
    return OK;
}

static void make_room(reading *r)
{
    sentences *s = r->to;
    if (s->n_words == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 256;
        s->words = xrealloc(s->words, s->cap * sizeof *s->words);
        for (size_t i = 0; i < r->n_columns; i++)
            s->tags[i] = xrealloc(s->tags[i], s->cap * sizeof *s->tags[i]);
        if (s->has_heads)
            s->heads = xrealloc(s->heads, s->cap * sizeof *s->heads);
    }
    size_t n = s->n_words - r->first;
    if (n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 64;
        for (size_t i = 0; i < r->n_columns; i++)
            r->tags[i] = xrealloc(r->tags[i], r->cap * sizeof *r->tags[i]);
    }
}

/* The number of a word, or 0; that the sentence has such a word is known at its end. */
static status read_head(const reading *r, const tag_text *column, int32_t *ret, error *err)
{
    char digits[10], *end = NULL;
    snprintf(digits, sizeof digits, "%.*s", (int)column->bytes, column->text);
    long head = strtol(digits, &end, 10);
    if (column->bytes >= sizeof digits || digits[0] < '0' || digits[0] > '9' || *end)
        return FAIL(err, E_DATA, "'%s': line %u: the head is '%.*s'; expected a word's number, or 0 of the root",
                    r->file->name, r->line, (int)column->bytes, column->text);
    *ret = (int32_t)head;
    return OK;
}

static status take_word(reading *r, const char *line, size_t bytes, error *err)
{
    tag_text columns[SENTENCE_COLUMNS + 1];
    int n = cut_columns(r->format, line, bytes, columns);
    bool left_out = false;
    TRY(check_utf8(r, line, bytes, err));
    TRY(check_columns(r, columns, n, err));
    if (r->format->is_numbered)
        TRY(check_number(r, &columns[0], &left_out, err));
    if (left_out)
        return OK;
    make_room(r);
    const tag_text *word = &columns[r->format->word];
    for (size_t i = 0; i < r->n_columns; i++)
        r->tags[i][r->to->n_words - r->first] = columns[r->columns[i].kind->column];
    if (r->to->has_heads)
        TRY(read_head(r, &columns[r->format->head], &r->to->heads[r->to->n_words], err));
    r->to->words[r->to->n_words++] = (tagged_word){word->text, word->bytes, r->line};
    return OK;
}

/* --- a sentence --- */

static status number_tags(reading *r, size_t column, error *err)
{
    const tag_column *c = &r->columns[column];
    size_t n = r->to->n_words - r->first;
    for (size_t i = 0; i < n; i++) {
        buf_clear(&r->name);
        coding_scheme_write(c->kind->is_coded ? c->scheme : CODING_AS_IT_IS, r->tags[column], n, i, &r->name);
        int32_t number = c->are_known ? words_find(c->names, r->name.data) : words_add(c->names, r->name.data);
        if (number < 0)
            return FAIL(err, E_DATA, "'%s': line %u: the tag '%s' is none of the training data's", r->file->name,
                        r->to->words[r->first + i].line, r->name.data);
        r->to->tags[column][r->first + i] = number;
    }
    return OK;
}

/* Each is another word of the sentence, or its root. */
static status check_heads(const reading *r, error *err)
{
    const sentences *s = r->to;
    size_t n = s->n_words - r->first;
    for (size_t i = 0; s->has_heads && i < n; i++) {
        int32_t head = s->heads[r->first + i];
        if ((size_t)head > n || (size_t)head == i + 1)
            return FAIL(err, E_DATA, "'%s': line %u: the head is %d; expected another word of %zu, or 0 of the root",
                        r->file->name, s->words[r->first + i].line, head, n);
    }
    return OK;
}

static status end_sentence(reading *r, error *err)
{
    sentences *s = r->to;
    if (s->n_words == r->first)
        return OK;
    TRY(check_heads(r, err));
    for (size_t i = 0; i < r->n_columns; i++)
        TRY(number_tags(r, i, err));
    GROW(s->at, s->sentences_cap, s->n + 1);
    s->at[s->n++] = (struct sentence){.file = r->file->name, .first = r->first, .n = s->n_words - r->first};
    r->first = s->n_words;
    return OK;
}

static status take_line(reading *r, const char *line, size_t bytes, error *err)
{
    static const char start[] = "-DOCSTART-";
    size_t blank = 0;
    while (blank < bytes && is_blank(line[blank]))
        blank++;
    bool is_start = bytes >= sizeof start - 1 && memcmp(line, start, sizeof start - 1) == 0;
    if (blank == bytes || (is_start && !r->format->is_numbered))
        return end_sentence(r, err);
    if (r->format->is_numbered && line[0] == '#')
        return OK;
    return take_word(r, line, bytes, err);
}

static status take_lines(reading *r, error *err)
{
    const char *text = (const char *)r->file->data;
    uint64_t told = 0;
    for (size_t at = 0, bytes; at < r->file->bytes; at += bytes + 1) {
        const char *line = text + at, *stop = memchr(line, '\n', r->file->bytes - at);
        bytes = stop ? (size_t)(stop - line) : r->file->bytes - at;
        read_progress_reach(&told, at);
        if (++r->line == UINT32_MAX || bytes > INT32_MAX)
            return fail_line(r, r->line, "a line too long, or one too many", err);
        TRY(take_line(r, line, bytes && line[bytes - 1] == '\r' ? bytes - 1 : bytes, err));
    }
    return end_sentence(r, err);
}

status sentences_add(sentences *s, const sentence_format *f, const record_source *file, const tag_column *columns,
                     size_t n_columns, error *err)
{
    reading r = {.to = s, .format = f, .file = file, .columns = columns, .n_columns = n_columns, .first = s->n_words};
    status st = take_lines(&r, err);
    for (size_t i = 0; i < n_columns; i++)
        free(r.tags[i]);
    buf_fini(&r.name);
    return st;
}

void sentences_fini(sentences *s)
{
    free(s->words);
    free(s->at);
    for (size_t i = 0; i < TAG_KINDS; i++)
        free(s->tags[i]);
    free(s->heads);
    *s = (sentences){.words = NULL};
}
