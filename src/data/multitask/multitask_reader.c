/*
 * Several readers as one (reader.h): their examples one behind the other, each with the number of its task. With
 * weights an epoch has weight times as many examples of a task as there are: reader i's take turns, in an order of
 * their own, so over the epochs each is seen as often as any other. Which ones an epoch has is a function of its
 * number alone.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/parts/permute.h"
#include "data/multitask/data_paths.h"
#include "data/reader_tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 64, TURNS_SEED = 1 };

typedef struct task {
    dataset *data;
    int64_t first, n;               /* its places in an epoch */
} task;

typedef struct multitask_reader {
    dataset base;
    arena *memory;                  /* of names */
    task tasks[TASKS];
    const char *names[TASKS];
    size_t n;
    bool is_weighted, has_number;   /* has_number: the last field is the task's */
    char *vocabulary;
} multitask_reader;

static void close_reader(dataset *d)
{
    multitask_reader *r = (multitask_reader *)d;
    for (size_t i = 0; i < r->n; i++)
        dataset_close(&r->tasks[i].data);
    arena_destroy(&r->memory);
    mem_free(r->base.lengths);
    free(r->vocabulary);
    free(r);
}

/* --- reading --- */

/* Place `place` of an epoch is example epoch * examples + place; of the first one it is the place itself. */
static int64_t of_epoch(const dataset *d, int64_t epoch, int64_t place)
{
    return ((const multitask_reader *)d)->is_weighted ? epoch * d->examples + place : place;
}

static const task *task_of(const multitask_reader *r, int64_t place)
{
    size_t i = 0;
    while (i + 1 < r->n && place >= r->tasks[i + 1].first)
        i++;
    return &r->tasks[i];
}

/* The task's own number of such an example. */
static int64_t own_example(const multitask_reader *r, const task *t, int64_t example)
{
    int64_t epoch = example / r->base.examples, within = example % r->base.examples - t->first;
    int64_t all = dataset_examples(t->data);
    return r->is_weighted ? permute_place(TURNS_SEED, 0, all, (epoch * t->n + within) % all) : within;
}

/* Of a task whose examples are shorter: what the longest of all has more. */
static void fill_up(const data_field *own, const data_field *all, void *at)
{
    int64_t inner = 1;
    for (int32_t i = 1; i < own->rank; i++)
        inner *= own->dim[i];
    for (int64_t i = own->dim[0] * inner; own->has_filler && i < all->dim[0] * inner; i++)
        ((int64_t *)at)[i] = own->filler;
}

static status read_with(const dataset *d, int64_t example, bool as_bytes, void *const *ret, error *err)
{
    const multitask_reader *r = (const multitask_reader *)d;
    const task *t = task_of(r, example % d->examples);
    int64_t own = own_example(r, t, example);
    TRY(as_bytes ? dataset_read_bytes(t->data, own, ret, err) : dataset_read(t->data, own, ret, err));
    size_t n;
    const data_field *f = dataset_fields(t->data, &n);
    for (size_t k = 0; k < n; k++)
        fill_up(&f[k], &d->fields[k], ret[k]);
    if (r->has_number)
        *(int64_t *)ret[d->n_fields - 1] = t - r->tasks;
    return OK;
}

static status read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    return read_with(d, example, false, ret, err);
}

static status read_bytes(const dataset *d, int64_t example, void *const *ret, error *err)
{
    return read_with(d, example, true, ret, err);
}

static const char *vocabulary(const dataset *d)
{
    return ((const multitask_reader *)d)->vocabulary;
}

/* Where all tasks say the same word. */
static bool label_word(const dataset *d, int64_t label, buf *to)
{
    const multitask_reader *r = (const multitask_reader *)d;
    buf first = BUF_INIT, other = BUF_INIT;
    bool same = dataset_label_word(r->tasks[0].data, label, &first);
    for (size_t i = 1; same && i < r->n; i++) {
        buf_clear(&other);
        same = dataset_label_word(r->tasks[i].data, label, &other) && strcmp(first.data, other.data) == 0;
    }
    if (same)
        buf_add(to, first.data, first.size);
    buf_fini(&first);
    buf_fini(&other);
    return same;
}

static void contents(const dataset *d, content_digest *ret)
{
    const multitask_reader *r = (const multitask_reader *)d;
    for (size_t i = 0; i < r->n; i++)
        r->tasks[i].data->ops->contents(r->tasks[i].data, ret);
}

static void place(const dataset *d, int64_t example, buf *ret)
{
    const multitask_reader *r = (const multitask_reader *)d;
    const task *t = task_of(r, example % d->examples);
    dataset_place(t->data, own_example(r, t, example), ret);
}

static const reader_ops multitask_ops = {.read = read_example,
                                         .read_bytes = read_bytes,
                                         .close = close_reader,
                                         .vocabulary = vocabulary,
                                         .label_word = label_word,
                                         .contents = contents,
                                         .of_epoch = of_epoch,
                                         .place = place};

/* --- opening --- */

/* But for how long the longest example is, where what others lack is filled up. */
static bool same_field(const data_field *a, const data_field *b)
{
    int32_t first = a->varies && a->has_filler && b->has_filler ? 1 : 0;
    size_t n_dims = TENSOR_RANK - (size_t)first;
    return strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->rank == b->rank && a->varies == b->varies &&
           memcmp(a->dim + first, b->dim + first, n_dims * sizeof *a->dim) == 0 &&
           a->bytes.channels == b->bytes.channels &&
           memcmp(a->bytes.scale, b->bytes.scale, sizeof a->bytes.scale) == 0;
}

/* Those of all tasks; as many classes and tokens, and as long, as of the task that has the most. */
static status join_fields(multitask_reader *r, const config *reader, size_t i, error *err)
{
    size_t n;
    dataset *d = &r->base;
    const data_field *f = dataset_fields(r->tasks[i].data, &n);
    for (size_t k = 0; i == 0 && k < n; k++) {
        d->fields[d->n_fields] = f[k];
        d->fields[d->n_fields++].is_viewed = false; /* it is read without draws */
    }
    for (size_t k = 0; k < n || k < d->n_fields; k++) {
        if (k == n || k == d->n_fields || !same_field(&f[k], &d->fields[k]))
            return FAIL(err, E_CONFIG, "%s.readers[%zu]: its fields are not those of the first reader: field '%s'",
                        config_path(reader), i, k < n ? f[k].name : d->fields[k].name);
        data_field *all = &d->fields[k];
        all->classes = f[k].classes > all->classes ? f[k].classes : all->classes;
        all->tokens = f[k].tokens > all->tokens ? f[k].tokens : all->tokens;
        all->dim[0] = all->rank && f[k].dim[0] > all->dim[0] ? f[k].dim[0] : all->dim[0];
    }
    return OK;
}

/* What the job's vocabulary says of a task: what is kept under its name, or, where a single reader made it, all. */
static const char *known_of_task(const reader_request *request, const json_t *known, const char *name)
{
    const json_t *tasks = json_object_get(known, "tasks");
    return tasks ? json_string_value(json_object_get(tasks, name)) : known ? request->vocabulary->text : NULL;
}

/* `paths`: by the readers' names; NULL: they lie in one folder. */
static status file_of(const reader_request *request, const config *item, const json_t *paths, char **ret, error *err)
{
    const char *name = config_str(item, "name"), *own = config_str(item, "path");
    const char *named = json_string_value(json_object_get(paths, name));
    if (paths && !named)
        return FAIL(err, E_CONFIG, "%s: the data have no path for the reader '%s': got %s", config_path(item), name,
                    request->path);
    if (paths && own)
        return FAIL(err, E_CONFIG, "%s.path: the data have paths by the readers' names: leave it out",
                    config_path(item));
    *ret = paths ? xstrdup(named) : xasprintf("%s/%s", request->path, own ? own : name);
    return OK;
}

static status open_task(multitask_reader *r, const reader_request *request, const json_t *paths, const json_t *known,
                        error *err)
{
    char place[32];
    size_t i = r->n;
    snprintf(place, sizeof place, "readers[%zu]", i);
    const config *item = config_section(request->reader, place);
    r->names[i] = arena_strdup(r->memory, config_str(item, "name"));
    for (size_t k = 0; k < i; k++)
        if (strcmp(r->names[k], r->names[i]) == 0)
            return FAIL(err, E_CONFIG, "%s.name: '%s' is the name of another task already", config_path(item),
                        r->names[i]);
    char *file = NULL;
    TRY(file_of(request, item, paths, &file, err));
    const dataset_options how = {.vocabulary = known_of_task(request, known, r->names[i]),
                                 .without_labels = request->without_labels};
    status st = request->open(config_section(item, "reader"), file, &how, &r->tasks[i].data, err);
    r->n += st == OK;
    free(file);
    TRY(st);
    if (known && !how.vocabulary && dataset_vocabulary(r->tasks[i].data))
        return FAIL(err, E_DATA, "'%s': has no vocabulary of the task '%s', by which its data are read",
                    request->vocabulary->origin, r->names[i]);
    return join_fields(r, request->reader, i, err);
}

/* How many examples of each task an epoch has. */
static status count_examples(multitask_reader *r, const config *reader, error *err)
{
    const json_t *weights = config_json(reader, "weights");
    r->is_weighted = json_is_array(weights);
    if (r->is_weighted && json_array_size(weights) != r->n)
        return FAIL(err, E_CONFIG, "%s.weights: %zu weights for %zu readers", config_path(reader),
                    json_array_size(weights), r->n);
    for (size_t i = 0; i < r->n; i++) {
        task *t = &r->tasks[i];
        double weight = r->is_weighted ? json_number_value(json_array_get(weights, i)) : 1.0;
        t->first = r->base.examples;
        t->n = (int64_t)llround((double)dataset_examples(t->data) * weight);
        t->n = t->n < 1 ? 1 : t->n;
        r->base.examples += t->n;
    }
    return OK;
}

/* With weights an example's place says nothing of its length. */
static status join_lengths(multitask_reader *r, error *err)
{
    void *memory = NULL;
    bool all = !r->is_weighted;
    for (size_t i = 0; i < r->n; i++)
        all = all && dataset_lengths(r->tasks[i].data);
    if (!all)
        return OK;
    TRY(mem_alloc((size_t)r->base.examples * sizeof *r->base.lengths, "the lengths of examples", &memory, err));
    r->base.lengths = memory;
    for (size_t i = 0; i < r->n; i++)
        memcpy(r->base.lengths + r->tasks[i].first, dataset_lengths(r->tasks[i].data),
               (size_t)r->tasks[i].n * sizeof *r->base.lengths);
    return OK;
}

/* A model sees numbers alone: without the task's it cannot know by whose vocabulary they are. */
static void warn_of_vocabularies(const multitask_reader *r)
{
    const char *first = dataset_vocabulary(r->tasks[0].data);
    for (size_t i = 1; i < r->n && !r->has_number; i++) {
        const char *other = dataset_vocabulary(r->tasks[i].data);
        if (!first == !other && (!first || strcmp(first, other) == 0))
            continue;
        LOG_W("VOCABULARIES",
              "the readers '%s' and '%s' number words or classes each by its own data, so a number does not mean the "
              "same in both: give both one `vocabulary`",
              r->names[0], r->names[i]);
        return;
    }
}

static void say_vocabulary(multitask_reader *r)
{
    json_t *tasks = json_object(), *parsed = json_array();
    for (size_t i = 0; i < r->n; i++) {
        const char *one = dataset_vocabulary(r->tasks[i].data);
        if (!one)
            continue;
        json_object_set_new(tasks, r->names[i], json_string(one));
        json_array_append_new(parsed, json_loads(one, 0, NULL));
    }
    json_t *whole = json_pack("{s:o}", "tasks", tasks);
    reader_tokenizer_join(parsed, whole); /* by it a single reader reads other data */
    r->vocabulary = json_object_size(tasks) ? json_text(whole) : NULL;
    json_decref(parsed);
    json_decref(whole);
}

static status add_number(multitask_reader *r, const config *reader, error *err)
{
    const char *name = config_str(reader, "dataset_field_name");
    if (!name)
        return OK;
    if (r->base.n_fields == DATA_FIELDS)
        return FAIL(err, E_CONFIG, "%s.dataset_field_name: one field too many; an example has at most %d",
                    config_path(reader), DATA_FIELDS);
    r->has_number = true;
    r->base.fields[r->base.n_fields++] = (data_field){.name = arena_strdup(r->memory, name), .dtype = DT_I64};
    return OK;
}

static status open_tasks(multitask_reader *r, const reader_request *request, const json_t *paths, const json_t *known,
                         error *err)
{
    size_t n = config_count(request->reader, "readers");
    if (n < 1 || n > TASKS)
        return FAIL(err, E_CONFIG, "%s.readers: has %zu; expected 1 to %d", config_path(request->reader), n, TASKS);
    for (size_t i = 0; i < n; i++)
        TRY(open_task(r, request, paths, known, err));
    const char *name;
    json_t *path;
    json_object_foreach((json_t *)paths, name, path)
    {
        bool is_known = false;
        for (size_t i = 0; i < n; i++)
            is_known = is_known || strcmp(name, r->names[i]) == 0;
        if (!is_known)
            return FAIL(err, E_CONFIG, "%s.readers: none is called '%s', as the data '%s' are",
                        config_path(request->reader), name, json_string_value(path));
    }
    return OK;
}

static status open_reader(multitask_reader *r, const reader_request *request, const json_t *known, error *err)
{
    json_t *paths = NULL;
    if (data_paths_are_named(request->path))
        TRY(data_paths_parse(request->path, &paths, err));
    status st = open_tasks(r, request, paths, known, err);
    json_decref(paths);
    TRY(st);
    for (size_t i = 0; i < r->n; i++)
        if (dataset_reading_bytes(r->tasks[i].data) > r->base.reading)
            r->base.reading = dataset_reading_bytes(r->tasks[i].data);
    TRY(count_examples(r, request->reader, err));
    TRY(join_lengths(r, err));
    TRY(add_number(r, request->reader, err));
    if (!known)
        warn_of_vocabularies(r);
    say_vocabulary(r);
    return OK;
}

status multitask_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    json_t *known = NULL;
    TRY(reader_vocabulary_parse(request->vocabulary, &known, err));
    multitask_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &multitask_ops;
    r->memory = arena_create();
    status st = open_reader(r, request, known, err);
    json_decref(known);
    if (st == OK)
        *ret = &r->base;
    else
        close_reader(&r->base);
    return st;
}
