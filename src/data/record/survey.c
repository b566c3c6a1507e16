/*
 * See survey.h. What is found does not depend on the classes that are known (of the job's vocabulary,
 * say), so training and evaluation share one survey. Kept as JSON: {"of": HASH, "fields": {"label": 10,
 * "kind": ["cat", "dog"], "text": 3, "image": 120000}}, of a text how many lose tokens, of images how many bytes of
 * memory one takes; of a text of words {"cut": 3, "words": ["the", ...], "counts": [12, ...]}. Lengths stand beside it
 * (kept_lengths.h).
 */
#include "data/record/survey.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/read_progress.h"
#include "data/index/index.h"
#include "data/index/parallel.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROUND = 4096 }; /* records that one round reads */

typedef struct survey {
    const record_set *set;
    const record_format *format;
    const record_fields *labels, *others;
    bool varies;                    /* a field does */
    kept_lengths lengths;           /* then: of each record, in its place */
    pthread_mutex_t lock;           /* guards what follows */
    int64_t classes[DATA_FIELDS];   /* of each label: the highest + 1 */
    words *learned[DATA_FIELDS];    /* of each that is a word */
    int64_t n_cut;                  /* records whose text has lost tokens */
    size_t reading;                 /* bytes that the images of a record take at most */
    word_counts counts;             /* the words of the texts, where tokens are words */
} survey;

static void survey_init(survey *s)
{
    pthread_mutex_init(&s->lock, NULL);
    for (size_t i = 0; i < DATA_FIELDS; i++)
        s->learned[i] = words_create();
    word_counts_init(&s->counts);
}

static void survey_fini(survey *s)
{
    for (size_t i = 0; i < DATA_FIELDS; i++)
        words_destroy(&s->learned[i]);
    word_counts_fini(&s->counts);
    pthread_mutex_destroy(&s->lock);
}

/* The fields that are labels, or the others; what they hold is borrowed. */
static record_fields fields_that(const record_fields *fields, bool are_labels)
{
    record_fields some = {.n = 0};
    for (size_t i = 0; i < fields->n; i++)
        if (record_field_is_label(&fields->at[i]) == are_labels)
            some.at[some.n++] = fields->at[i];
    return some;
}

/* --- reading all records --- */

typedef status take_record(void *user, const void *parsed, error *err);

static status take_one(const survey *s, int64_t i, take_record *take, void *user, error *err)
{
    size_t bytes;
    void *parsed = NULL;
    const unsigned char *data = record_set_at(s->set, i, &bytes);
    status st = s->format->parse(data, bytes, &parsed, err);
    if (st == OK) {
        st = take(user, parsed, err);
        s->format->drop(parsed);
    }
    if (st != OK && err) {
        buf place = BUF_INIT;
        record_set_place(s->set, i, &place);
        error_prepend(err, "%s", place.data);
        buf_fini(&place);
    }
    return st;
}

static status take_round(const survey *s, size_t round, take_record *take, void *user, error *err)
{
    int64_t i = (int64_t)round * ROUND, end = i + ROUND, n = record_set_count(s->set);
    for (; i < end && i < n; i++) {
        TRY(take_one(s, i, take, user, err));
        read_progress_add(1);
    }
    return OK;
}

static size_t rounds_of(const survey *s)
{
    return (size_t)((record_set_count(s->set) + ROUND - 1) / ROUND);
}

/* Room for the values of each field, which mem_free takes back. */
static status take_room(const record_fields *fields, void *ret[DATA_FIELDS], error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < fields->n; i++) {
        data_field f[TEXT_FIELDS];
        size_t n_outputs = record_field_data(&fields->at[i], f);
        for (size_t k = 0; k < n_outputs; k++)
            TRY(mem_alloc(data_field_bytes(&f[k]), "an example", &ret[n++], err));
    }
    return OK;
}

/* --- learning --- */

typedef struct learner {
    survey found;                   /* in this round */
    int64_t next;                   /* the record that comes next */
    void *room[DATA_FIELDS];
} learner;

static status learn_record(void *user, const void *parsed, error *err)
{
    learner *l = user;
    survey *s = &l->found;
    record_measure measure = {.length = 0};
    bool is_example = !record_fields_skip(s->labels, s->format, parsed);
    for (size_t i = 0; is_example && i < s->labels->n; i++)
        TRY(record_field_learn(&s->labels->at[i], s->format, parsed, s->learned[i], &s->classes[i], err));
    if (is_example)
        TRY(record_fields_take(s->others, s->format, parsed, &(record_reading){true, NULL, &measure}, l->room, err));
    s->n_cut += measure.was_cut;
    s->reading = measure.reading > s->reading ? measure.reading : s->reading;
    for (size_t i = 0; is_example && i < s->others->n; i++)
        if (record_field_has_words(&s->others->at[i]))
            TRY(record_field_count(&s->others->at[i], s->format, parsed, l->next, &s->counts, err));
    if (s->varies)
        s->lengths.heap[l->next] = (uint32_t)measure.length;
    l->next++;
    return OK;
}

static void merge(survey *s, const survey *mine)
{
    pthread_mutex_lock(&s->lock);
    s->n_cut += mine->n_cut;
    s->reading = mine->reading > s->reading ? mine->reading : s->reading;
    word_counts_merge(&s->counts, &mine->counts);
    for (size_t i = 0; i < s->labels->n; i++) {
        s->classes[i] = mine->classes[i] > s->classes[i] ? mine->classes[i] : s->classes[i];
        for (int32_t w = 0; w < words_count(mine->learned[i]); w++)
            words_add(s->learned[i], words_at(mine->learned[i], w));
    }
    pthread_mutex_unlock(&s->lock);
}

static status learn_round(void *user, size_t round, error *err)
{
    survey *s = user;
    learner l = {.found = {.set = s->set,
                           .format = s->format,
                           .labels = s->labels,
                           .others = s->others,
                           .varies = s->varies,
                           .lengths = s->lengths},
                 .next = (int64_t)round * ROUND};
    survey_init(&l.found);
    status st = take_room(s->others, l.room, err);
    if (st == OK)
        st = take_round(s, round, learn_record, &l, err);
    if (st == OK)
        merge(s, &l.found);
    for (size_t i = 0; i < DATA_FIELDS; i++)
        mem_free(l.room[i]);
    survey_fini(&l.found);
    return st;
}

static json_t *sorted_words(words *w)
{
    int32_t *places = xmalloc(((size_t)words_count(w) + 1) * sizeof *places);
    words_sort(w, places);
    free(places);
    json_t *list = json_array();
    for (int32_t i = 0; i < words_count(w); i++)
        json_array_append_new(list, json_string(words_at(w, i)));
    return list;
}

static json_t *text_found(const survey *s, const record_field *f)
{
    if (!record_field_has_words(f))
        return json_integer(s->n_cut);
    json_t *found = word_counts_json(&s->counts);
    json_object_set_new(found, "cut", json_integer(s->n_cut));
    return found;
}

static status learn_all(survey *s, json_t **ret, error *err)
{
    int64_t began_us = clock_us(), in_first;
    size_t bytes;
    read_progress_begin("reading all of", record_set_file(s->set, 0, &in_first, &bytes),
                        (uint64_t)record_set_count(s->set),
                        record_set_files(s->set) > 1 ? "records of all files" : "records");
    TRY(parallel_for(rounds_of(s), 0, learn_round, s, err));
    json_t *found = json_object();
    for (size_t i = 0; i < s->labels->n; i++) {
        const record_field *f = &s->labels->at[i];
        json_object_set_new(found, f->name,
                            record_field_is_word(f) ? sorted_words(s->learned[i])
                                                    : json_integer(s->classes[i]));
    }
    for (size_t i = 0; i < s->others->n; i++) {
        const record_field *f = &s->others->at[i];
        if (record_field_is_text(f) || record_field_is_image(f))
            json_object_set_new(found, f->name,
                                record_field_is_text(f) ? text_found(s, f) : json_integer((json_int_t)s->reading));
    }
    LOG_I("SURVEY", "records=%" PRId64 " seconds=%.3f: each was read once, and is as the configuration says",
          record_set_count(s->set), (double)(clock_us() - began_us) * 1e-6);
    *ret = found;
    return OK;
}

/* --- kept --- */

/* Of the data, and of all that decides what is found in them. */
static void survey_key(const record_set *set, const record_format *format, const record_fields *fields,
                       cache_key *ret)
{
    char data[SHA256_HEX];
    buf all = BUF_INIT;
    record_set_name(set, data);
    buf_addf(&all, "survey 1\n%s\n%s\n", data, format->type);
    record_fields_describe(fields, &all);
    *ret = (cache_key){.bytes = 0};
    sha256_hex(all.data, all.size, ret->name);
    buf_fini(&all);
}

static bool tells_of(const json_t *found, const record_fields *labels, const record_fields *others)
{
    for (size_t i = 0; i < others->n; i++) {
        const json_t *one = json_object_get(found, others->at[i].name), *list = json_object_get(one, "words");
        if (record_field_has_words(&others->at[i]) &&
            (json_array_size(list) == 0 || json_array_size(list) != json_array_size(json_object_get(one, "counts"))))
            return false;
    }
    for (size_t i = 0; i < labels->n; i++) {
        const json_t *one = json_object_get(found, labels->at[i].name);
        if (record_field_is_word(&labels->at[i]) ? json_array_size(one) == 0 : json_integer_value(one) < 1)
            return false;
    }
    return true;
}

static void hash_fields(const json_t *found, char ret_hex[SHA256_HEX])
{
    char *text = json_text(found);
    sha256_hex(text, strlen(text), ret_hex);
    free(text);
}

static bool is_text(const json_t *o, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(o, key));
    return value && strcmp(value, text) == 0;
}

/* NULL: there is none, or it is another's or damaged. */
static json_t *load_survey(const char *path, const cache_key *key, const survey *s)
{
    json_t *kept = NULL;
    char hash[SHA256_HEX];
    if (!path || !fs_exists(path) || json_read_file(path, &kept, NULL) != OK)
        return NULL;
    json_t *found = json_object_get(kept, "fields");
    bool good = json_is_object(found) && is_text(kept, "of", key->name) && tells_of(found, s->labels, s->others);
    if (good) {
        hash_fields(found, hash);
        good = is_text(kept, "sha256", hash);
    }
    found = good ? json_incref(found) : NULL;
    json_decref(kept);
    return found;
}

static void keep_survey(const char *path, const cache_key *key, json_t *found)
{
    error why = ERROR_INIT;
    char hash[SHA256_HEX];
    hash_fields(found, hash);
    json_t *kept = json_pack("{s:s, s:s, s:O}", "of", key->name, "sha256", hash, "fields", found);
    if (json_write_file(path, kept, &why) != OK)
        LOG_W("SURVEY", "all records are read again at each start: %s", why.text);
    json_decref(kept);
}

/* --- against what is known --- */

static bool is_known(const record_field *f, const json_t *found)
{
    if (!record_field_is_word(f))
        return json_integer_value(found) <= f->classes;
    for (size_t i = 0; i < json_array_size(found); i++)
        if (words_find(f->words, json_string_value(json_array_get(found, i))) < 0)
            return false;
    return true;
}

/* Behind those that are known. */
static void take_classes(record_field *f, const json_t *found)
{
    f->classes = json_integer_value(found) > f->classes ? json_integer_value(found) : f->classes;
    if (!record_field_is_word(f))
        return;
    if (!f->words)
        f->words = words_create();
    for (size_t i = 0; i < json_array_size(found); i++)
        words_add(f->words, json_string_value(json_array_get(found, i)));
    f->classes = words_count(f->words);
}

static status check_record(void *user, const void *parsed, error *err)
{
    const survey *s = user;
    int64_t classes[DATA_FIELDS];
    void *room[DATA_FIELDS];
    for (size_t i = 0; i < DATA_FIELDS; i++)
        room[i] = &classes[i];
    return record_fields_skip(s->labels, s->format, parsed)
               ? OK
               : record_fields_take(s->labels, s->format, parsed, &(record_reading){.raw = true}, room, err);
}

static status check_round(void *user, size_t round, error *err)
{
    return take_round(user, round, check_record, user, err);
}

/* Labels that are not known are looked for once more, to say where. */
static status apply_survey(const json_t *found, survey *s, record_fields *fields, error *err)
{
    bool all_known = true;
    for (size_t i = 0; i < fields->n; i++) {
        record_field *f = &fields->at[i];
        const json_t *one = json_object_get(found, f->name);
        if (record_field_has_words(f))
            text_encoder_learn(f->encoder, one);
        if (!record_field_is_label(f))
            continue;
        if (f->classes && !f->grows)
            all_known = all_known && is_known(f, one);
        else
            take_classes(f, one);
    }
    if (all_known)
        return OK;
    record_fields labels = fields_that(fields, true);
    s->labels = &labels;
    TRY(parallel_for(rounds_of(s), 0, check_round, s, err));
    return FAIL(err, E_DATA, "the data changed while they were read");
}

/* False: they are not kept, or not as they should be. */
static bool load_all(survey *s, const char *path, const cache_key *key, json_t **ret)
{
    *ret = load_survey(path, key, s);
    if (*ret && s->varies && !kept_lengths_load(path, key, (size_t)record_set_count(s->set), &s->lengths)) {
        json_decref(*ret);
        *ret = NULL;
    }
    return *ret != NULL;
}

static status find_survey(survey *s, const char *path, const cache_key *key, json_t **ret, error *err)
{
    int lock = path ? cache_lock(path) : -1;
    status st = OK;
    if (!load_all(s, path, key, ret)) {
        if (s->varies)
            st = kept_lengths_make((size_t)record_set_count(s->set), &s->lengths, err);
        if (st == OK)
            st = learn_all(s, ret, err);
        if (st == OK && path)
            keep_survey(path, key, *ret);
        if (st == OK && path && s->varies)
            kept_lengths_keep(path, key, &s->lengths);
    }
    cache_unlock(lock);
    return st;
}

static bool any_varies(const record_fields *fields)
{
    bool any = false;
    for (size_t i = 0; i < fields->n; i++)
        any = any || fields->at[i].varies;
    return any;
}

static size_t reading_of(const record_fields *others, const json_t *found)
{
    for (size_t i = 0; i < others->n; i++)
        if (record_field_is_image(&others->at[i]))
            return (size_t)json_integer_value(json_object_get(found, others->at[i].name));
    return 0;
}

static void warn_of_cut(const record_fields *others, const json_t *found)
{
    for (size_t i = 0; i < others->n; i++) {
        const record_field *f = &others->at[i];
        const json_t *one = json_object_get(found, f->name);
        int64_t n = json_integer_value(json_is_object(one) ? json_object_get(one, "cut") : one);
        if (record_field_is_text(f) && n > 0)
            LOG_W("CUT", "texts=%" PRId64 " most=%" PRId64 ": they have more tokens, and lose some", n, f->elements);
    }
}

status survey_take(const record_set *set, const record_format *format, record_fields *fields,
                   kept_lengths *ret_lengths, size_t *ret_reading, error *err)
{
    cache_key key;
    json_t *found = NULL;
    record_fields labels = fields_that(fields, true), others = fields_that(fields, false);
    survey s = {
        .set = set, .format = format, .labels = &labels, .others = &others, .varies = any_varies(&others)};
    survey_init(&s);
    survey_key(set, format, fields, &key);
    char *path = record_set_bytes(set) < INDEX_KEPT_BYTES ? NULL : cache_path(&key, ".survey");
    status st = find_survey(&s, path, &key, &found, err);
    if (st == OK)
        st = apply_survey(found, &s, fields, err);
    if (st == OK) {
        warn_of_cut(&others, found);
        *ret_reading = reading_of(&others, found);
    }
    json_decref(found);
    free(path);
    survey_fini(&s);
    if (st == OK)
        *ret_lengths = s.lengths;
    else
        kept_lengths_close(&s.lengths);
    return st;
}
