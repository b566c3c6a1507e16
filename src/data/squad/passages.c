/* See passages.h. */
#include "data/squad/passages.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* --- finding them --- */

/* Those keys lead to the passages, whatever stands beside them. */
static const char *const levels[] = {"data", "paragraphs"};

typedef struct walk {
    squad_passages *to;
    const record_source *file;
    uint32_t number;                /* of it */
    const char *data;
    size_t n, at;
    bool are_lines;
} walk;

static char next_of(walk *w)
{
    while (w->at < w->n && strchr(" \t\r\n", w->data[w->at]) && w->data[w->at])
        w->at++;
    return w->at < w->n ? w->data[w->at] : '\0';
}

static status expect(walk *w, char what, error *err)
{
    if (next_of(w) != what)
        return FAIL(err, E_DATA, "'%s': byte %zu: expected '%c'", w->file->name, w->at, what);
    w->at++;
    return OK;
}

static status take_value(walk *w, json_t **ret, error *err)
{
    const size_t flags = JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES;
    json_error_t why;
    next_of(w);
    *ret = json_loadb(w->data + w->at, w->n - w->at, flags, &why);
    if (!*ret)
        return FAIL(err, E_DATA, "'%s': byte %zu: %s", w->file->name, w->at + (size_t)why.position, why.text);
    w->at += (size_t)why.position;
    return OK;
}

static status skip_value(walk *w, error *err)
{
    json_t *value = NULL;
    TRY(take_value(w, &value, err));
    json_decref(value);
    return OK;
}

static status take_passage(walk *w, error *err)
{
    squad_passages *p = w->to;
    next_of(w);
    size_t at = w->at;
    TRY(skip_value(w, err));
    GROW(p->at, p->cap, p->n + 1);
    p->at[p->n++] = (squad_place){.file = w->number, .at = at, .bytes = w->at - at, .is_line = w->are_lines};
    return OK;
}

/* Is there an item or member? */
static status begin(walk *w, char open, char close, bool *ret, error *err)
{
    TRY(expect(w, open, err));
    *ret = next_of(w) != close;
    return *ret ? OK : expect(w, close, err);
}

/* Is there another one behind this? */
static status go_on(walk *w, char end, bool *ret, error *err)
{
    char next = next_of(w);
    *ret = next == ',';
    return *ret ? expect(w, ',', err) : expect(w, end, err);
}

static status walk_object(walk *w, size_t level, bool *ret_found, error *err);

static status walk_list(walk *w, size_t level, error *err)
{
    bool more, found = true;
    TRY(begin(w, '[', ']', &more, err));
    while (more) {
        size_t at = w->at;
        if (level == COUNT_OF(levels))
            TRY(take_passage(w, err));
        else
            TRY(walk_object(w, level, &found, err));
        if (!found)
            return FAIL(err, E_DATA, "'%s': the object at byte %zu has no '%s'", w->file->name, at, levels[level]);
        TRY(go_on(w, ']', &more, err));
    }
    return OK;
}

/* The list under the level's key, however deep the passages lie in it. */
static status walk_object(walk *w, size_t level, bool *ret_found, error *err)
{
    bool more;
    *ret_found = false;
    TRY(begin(w, '{', '}', &more, err));
    while (more) {
        json_t *key = NULL;
        TRY(take_value(w, &key, err));
        bool is_wanted = json_is_string(key) && strcmp(json_string_value(key), levels[level]) == 0;
        json_decref(key);
        TRY(expect(w, ':', err));
        TRY(is_wanted ? walk_list(w, level + 1, err) : skip_value(w, err));
        *ret_found = *ret_found || is_wanted;
        TRY(go_on(w, '}', &more, err));
    }
    return OK;
}

void squad_passages_add_file(squad_passages *to, const record_source *file)
{
    GROW(to->files, to->files_cap, to->n_files + 1);
    to->files[to->n_files++] = file;
}

status squad_passages_find(squad_passages *to, size_t i, error *err)
{
    const record_source *file = to->files[i];
    walk w = {
        .to = to, .file = file, .number = (uint32_t)i, .data = (const char *)file->data, .n = file->bytes};
    bool found = false, is_empty = next_of(&w) == '\0' && w.at == w.n;
    if (is_empty)
        return OK;
    TRY(walk_object(&w, 0, &found, err));
    w.are_lines = !found;
    if (!found)
        w.at = 0;
    while (next_of(&w) && !found)
        TRY(take_passage(&w, err));
    if (next_of(&w) || w.at < w.n)
        return FAIL(err, E_DATA, "'%s': byte %zu: the file goes on behind its end", file->name, w.at);
    return OK;
}

void squad_passages_fini(squad_passages *p)
{
    free(p->at);
    free(p->files);
    *p = (squad_passages){.at = NULL};
}

/* --- reading one --- */

static const char *kind_of(const squad_passage *p)
{
    return p->place->is_line ? "object" : "paragraph";
}

static status passage_fail(const squad_passage *p, error *err, const char *what)
{
    return FAIL(err, E_DATA, "'%s': the %s at byte %zu: %s", p->file->name, kind_of(p), p->place->at, what);
}

static status take_parts(squad_passage *p, error *err)
{
    const json_t *context = json_object_get(p->root, "context"), *questions = json_object_get(p->root, "qas");
    if (!context && p->place->is_line)
        context = json_object_get(p->root, "passage");
    p->context = json_string_value(context);
    if (p->place->is_line && (!p->context || !json_is_string(json_object_get(p->root, "question"))))
        return passage_fail(p, err, "is neither SQuAD's {\"data\": [...]} nor has it the strings 'question' and "
                                    "'context'");
    if (!p->context)
        return passage_fail(p, err, "has no string 'context'");
    if (!p->place->is_line && !json_is_array(questions))
        return passage_fail(p, err, "has no list 'qas'");
    p->n_questions = p->place->is_line ? 1 : json_array_size(questions);
    return OK;
}

status squad_passage_read(const squad_passages *all, size_t i, squad_passage *ret, error *err)
{
    const squad_place *place = &all->at[i];
    json_error_t why;
    *ret = (squad_passage){.place = place, .file = all->files[place->file]};
    ret->root = json_loadb((const char *)ret->file->data + place->at, place->bytes, JSON_REJECT_DUPLICATES, &why);
    status st = ret->root ? take_parts(ret, err) : passage_fail(ret, err, why.text);
    if (st != OK)
        squad_passage_fini(ret);
    return st;
}

void squad_passage_fini(squad_passage *p)
{
    json_decref(p->root);
    p->root = NULL;
}

void squad_passage_blame(const squad_passage *p, const squad_question *q, error *err)
{
    error_prepend(err, "'%s': the %s at byte %zu, question '%s'", p->file->name, kind_of(p), p->place->at,
                  q->id ? q->id : q->text ? q->text : "");
}

status squad_passage_question(const squad_passage *p, size_t i, squad_question *ret, error *err)
{
    const json_t *one = p->place->is_line ? p->root : json_array_get(json_object_get(p->root, "qas"), i);
    *ret = (squad_question){.id = json_string_value(json_object_get(one, "id")),
                            .text = json_string_value(json_object_get(one, "question")),
                            .answers = json_object_get(one, "answers")};
    status st = OK;
    if (!ret->text)
        st = FAIL(err, E_DATA, "has no string 'question'");
    else if (ret->answers && !json_is_array(ret->answers))
        st = FAIL(err, E_DATA, "'answers' is %s, which is to be a list of {\"text\", \"answer_start\"}",
                  json_kind(ret->answers));
    if (st != OK)
        squad_passage_blame(p, ret, err);
    return st;
}

size_t squad_question_answers(const squad_question *q)
{
    return json_array_size(q->answers);
}

status squad_passage_answer(const squad_passage *p, const squad_question *q, size_t i, const char **ret,
                            int64_t *ret_start, error *err)
{
    const json_t *one = json_array_get(q->answers, i), *start = json_object_get(one, "answer_start");
    *ret = json_string_value(json_object_get(one, "text"));
    *ret_start = json_is_integer(start) ? json_integer_value(start) : -1;
    if (*ret)
        return OK;
    status st = FAIL(err, E_DATA, "answer %zu has no string 'text'", i);
    squad_passage_blame(p, q, err);
    return st;
}
