/* See kept.h. */
#include "data/squad/kept.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PLACES, TOKENS, IDS, CONTEXTS, QUESTIONS, WINDOWS, COUNTS, ARRAYS };
enum { MISPLACED, PARTED, N_COUNTS }; /* of COUNTS */

typedef struct making {
    const char *path;
    const squad_options *o;
    const squad_passages *files;    /* without passages */
} making;

/* --- making --- */

static void add_files(squad_passages *to, const shards *files)
{
    for (size_t i = 0; i < files->n; i++)
        squad_passages_add_file(to, &files->at[i].source);
}

static status check_any(const making *m, const squad_passages *p, const squad_examples *e, error *err)
{
    if (p->n == 0)
        return FAIL(err, E_DATA, "'%s': has no paragraphs", m->path);
    if (e->n_windows > 0)
        return OK;
    return FAIL(err, E_DATA, "'%s': no example is left of %zu questions: %zu have a misplaced answer, and windows "
                             "without an answer are %s",
                m->path, e->n_questions + e->n_misplaced, e->n_misplaced,
                m->o->skip_impossible ? "skipped" : "taken");
}

static status write_all(kept_writer *w, const squad_passages *p, const squad_examples *e, error *err)
{
    const uint64_t counts[N_COUNTS] = {[MISPLACED] = e->n_misplaced, [PARTED] = e->n_parted};
    TRY(kept_write(w, PLACES, p->at, p->n, err));
    TRY(kept_write(w, TOKENS, e->tokens.at, e->tokens.n, err));
    TRY(kept_write(w, IDS, e->ids.at, e->ids.n, err));
    TRY(kept_write(w, CONTEXTS, e->contexts, e->n_contexts, err));
    TRY(kept_write(w, QUESTIONS, e->questions, e->n_questions, err));
    TRY(kept_write(w, WINDOWS, e->windows, e->n_windows, err));
    return kept_write(w, COUNTS, counts, N_COUNTS, err);
}

static status make(void *user, kept_writer *w, error *err)
{
    const making *m = user;
    squad_passages p = {.n = 0};
    squad_examples e = {.n_windows = 0};
    status st = OK;
    for (size_t i = 0; i < m->files->n_files; i++)
        squad_passages_add_file(&p, m->files->files[i]);
    for (size_t i = 0; i < p.n_files && st == OK; i++)
        st = squad_passages_find(&p, i, err);
    if (st == OK)
        st = squad_examples_make(&p, m->o, &e, err);
    if (st == OK)
        st = check_any(m, &p, &e, err);
    if (st == OK)
        st = write_all(w, &p, &e, err);
    squad_examples_fini(&e);
    squad_passages_fini(&p);
    return st;
}

/* --- taking --- */

/* Both point into the arrays. */
static void view(const kept_arrays *a, squad_passages *p, squad_examples *e)
{
    const uint64_t *counts = a->at[COUNTS].at;
    p->at = a->at[PLACES].at;
    p->n = a->at[PLACES].n;
    *e = (squad_examples){.tokens = {.at = a->at[TOKENS].at, .n = a->at[TOKENS].n},
                          .ids = {.at = a->at[IDS].at, .n = a->at[IDS].n},
                          .contexts = a->at[CONTEXTS].at,
                          .questions = a->at[QUESTIONS].at,
                          .windows = a->at[WINDOWS].at,
                          .n_contexts = a->at[CONTEXTS].n,
                          .n_questions = a->at[QUESTIONS].n,
                          .n_windows = a->at[WINDOWS].n,
                          .n_misplaced = counts[MISPLACED],
                          .n_parted = counts[PARTED]};
}

static bool are_places_sound(const squad_passages *p)
{
    bool good = true;
    for (size_t i = 0; i < p->n && good; i++) {
        const squad_place *one = &p->at[i];
        good = one->file < p->n_files && one->at <= p->files[one->file]->bytes &&
               one->bytes <= p->files[one->file]->bytes - one->at;
    }
    return good;
}

static bool are_windows_sound(const squad_examples *e)
{
    bool good = true;
    for (size_t i = 0; i < e->n_contexts && good; i++)
        good = e->contexts[i].first <= e->tokens.n && e->contexts[i].n <= e->tokens.n - e->contexts[i].first;
    for (size_t i = 0; i < e->n_questions && good; i++)
        good = e->questions[i].first <= e->ids.n && e->questions[i].n <= e->ids.n - e->questions[i].first &&
               e->questions[i].context < e->n_contexts;
    for (size_t i = 0; i < e->n_windows && good; i++)
        good = e->windows[i].question < e->n_questions &&
               e->windows[i].first < e->contexts[e->questions[e->windows[i].question].context].n;
    return good;
}

static bool are_tokens_sound(const squad_examples *e, int64_t size)
{
    bool good = true;
    for (size_t i = 0; i < e->tokens.n; i++)
        good = good && e->tokens.at[i].id >= 0 && e->tokens.at[i].id < size;
    for (size_t i = 0; i < e->ids.n; i++)
        good = good && e->ids.at[i] >= 0 && e->ids.at[i] < size;
    return good;
}

static bool is_sound(const void *user, const kept_arrays *a)
{
    const making *m = user;
    squad_passages p = *m->files;
    squad_examples e;
    if (a->at[COUNTS].n != N_COUNTS || a->at[WINDOWS].n == 0 || a->at[PLACES].n != a->at[CONTEXTS].n)
        return false;
    view(a, &p, &e);
    return are_places_sound(&p) && are_windows_sound(&e) && are_tokens_sound(&e, tokenizer_size(m->o->tokenizer));
}

/* Of all that decides the examples. */
static void name(const shards *files, const squad_options *o, cache_key *ret)
{
    buf made = BUF_INIT;
    buf_addf(&made,
             "squad 2\n%s\nlimit=%" PRId64 " stride=%" PRId64 " question=%" PRId64
             " skip_impossible=%d skip_misplaced=%d without_answers=%d",
             tokenizer_fingerprint(o->tokenizer), o->length_limit, o->stride, o->max_query_length, o->skip_impossible,
             o->skip_misplaced, o->without_answers);
    shards_key(files, made.data, ret);
    buf_fini(&made);
}

status squad_kept_open(const shards *files, const char *path, const squad_options *o, squad_kept *ret, error *err)
{
    squad_kept k = {.heap_bytes = 0};
    making m = {.path = path, .o = o, .files = &k.passages};
    const kept_recipe recipe = {.what = "squad",
                                .of = path,
                                .source_bytes = shards_bytes(files),
                                .n = ARRAYS,
                                .width = {[PLACES] = sizeof(squad_place),
                                          [TOKENS] = sizeof(squad_token),
                                          [IDS] = sizeof(int32_t),
                                          [CONTEXTS] = sizeof(squad_context),
                                          [QUESTIONS] = sizeof(squad_asked),
                                          [WINDOWS] = sizeof(squad_window),
                                          [COUNTS] = sizeof(uint64_t)},
                                .make = make,
                                .is_sound = is_sound,
                                .user = &m};
    cache_key key;
    add_files(&k.passages, files);
    name(files, o, &key);
    status st = kept_arrays_open(&key, &recipe, &k.arrays, err);
    if (st != OK) {
        squad_passages_fini(&k.passages);
        return st;
    }
    view(&k.arrays, &k.passages, &k.examples);
    k.heap_bytes = kept_arrays_heap_bytes(&k.arrays, &recipe);
    *ret = k;
    return OK;
}

void squad_kept_close(squad_kept *k)
{
    k->passages.at = NULL; /* the arrays' */
    squad_passages_fini(&k->passages);
    kept_arrays_close(&k->arrays);
    *k = (squad_kept){.heap_bytes = 0};
}
