/*
 * See survey.h. Kept as JSON: {"of": HASH, "broken": [[17, "is a damaged JPEG: ..."]]}, by their numbers in the set;
 * the hash is of the paths, sizes, times and samples of all files.
 */
#include "data/pictures/survey.h"

#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/read_progress.h"
#include "data/index/cache.h"
#include "data/index/parallel.h"
#include "data/pictures/broken.h"
#include "data/pictures/picture.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Pictures that one round looks at; the largest file. */
enum { ROUND = 64 };

typedef struct tally {
    int64_t of_format[PICTURE_FORMATS], misnamed, sixteen_bits, cmyk, turned;
    int32_t narrowest, widest;      /* the shorter side */
    size_t reading;                 /* most bytes of one */
} tally;

typedef struct survey {
    picture_set *set;
    const picture_decoding *how;
    char **broken;                  /* [set->n] what is wrong with it; NULL: nothing */
    pthread_mutex_t lock;           /* guards found */
    tally found;
} survey;

status picture_set_read(const picture_set *s, size_t i, buf *ret, error *err)
{
    char *path = picture_set_path(s, i);
    status st = fs_read(path, PICTURE_FILE_MOST, ret, err);
    free(path);
    return st;
}

/* --- heads --- */

static void count(tally *t, const picture_entry *e, const picture_head *head, const picture_decoding *how)
{
    size_t reading = (size_t)e->bytes + picture_decoding_bytes(head, how);
    t->reading = reading > t->reading ? reading : t->reading;
    int32_t side = head->width < head->height ? head->width : head->height;
    t->of_format[head->format]++;
    t->misnamed += picture_format_of_name(e->path, NULL) != (int)head->format;
    t->sixteen_bits += head->bits == 16;
    t->cmyk += head->is_cmyk;
    t->turned += head->orientation != 1;
    t->narrowest = t->narrowest && t->narrowest < side ? t->narrowest : side;
    t->widest = t->widest > side ? t->widest : side;
}

static void add_tally(tally *to, const tally *t)
{
    for (size_t i = 0; i < PICTURE_FORMATS; i++)
        to->of_format[i] += t->of_format[i];
    to->misnamed += t->misnamed;
    to->sixteen_bits += t->sixteen_bits;
    to->cmyk += t->cmyk;
    to->turned += t->turned;
    if (t->narrowest && (!to->narrowest || t->narrowest < to->narrowest))
        to->narrowest = t->narrowest;
    to->widest = t->widest > to->widest ? t->widest : to->widest;
    to->reading = t->reading > to->reading ? t->reading : to->reading;
}

static status look_at(picture_entry *e, const char *path, const picture_decoding *how, tally *t, error *err)
{
    fs_map file;
    picture_head head;
    TRY(picture_entry_open(e, path, &file, err));
    status st = picture_read_head(file.data, file.bytes, &head, err);
    fs_map_close(&file);
    if (st == OK)
        count(t, e, &head, how);
    return st;
}

static size_t end_of_round(const survey *s, size_t round)
{
    size_t end = (round + 1) * ROUND;
    return end < s->set->n ? end : s->set->n;
}

static status look_at_round(void *user, size_t round, error *err)
{
    survey *s = user;
    tally t = {.widest = 0};
    for (size_t i = round * ROUND; i < end_of_round(s, round); i++) {
        error why = ERROR_INIT;
        char *path = picture_set_path(s->set, i);
        status st = look_at(&s->set->at[i], path, s->how, &t, &why);
        free(path);
        read_progress_add(1);
        TRY(picture_set_note(st, &why, &s->broken[i], err));
    }
    pthread_mutex_lock(&s->lock);
    add_tally(&s->found, &t);
    pthread_mutex_unlock(&s->lock);
    return OK;
}

/* --- whole pictures --- */

static status decode_one(const survey *s, size_t i, error *err)
{
    buf file = BUF_INIT;
    picture p = {.pixels = NULL};
    status st = picture_set_read(s->set, i, &file, err);
    if (st == OK)
        st = picture_decode((const unsigned char *)file.data, file.size, &(picture_decoding){.shortest = 0}, &p, err);
    picture_fini(&p);
    buf_fini(&file);
    return st;
}

static status decode_round(void *user, size_t round, error *err)
{
    survey *s = user;
    for (size_t i = round * ROUND; i < end_of_round(s, round); i++) {
        error why = ERROR_INIT;
        read_progress_add(1);
        if (!s->broken[i])
            TRY(picture_set_note(decode_one(s, i, &why), &why, &s->broken[i], err));
    }
    return OK;
}

static size_t rounds_of(const survey *s)
{
    return (s->set->n + ROUND - 1) / ROUND;
}

/* --- kept --- */

static void make_key(const picture_set *set, cache_key *ret)
{
    sha256 h = {.context = NULL};
    static const char version[] = "pictures 1";
    memset(ret, 0, sizeof *ret);
    sha256_begin(&h);
    sha256_add(&h, version, sizeof version);
    for (size_t i = 0; i < set->n; i++) {
        const picture_entry *e = &set->at[i];
        uint64_t said[3] = {e->bytes, e->sample, (uint64_t)e->changed_ns};
        sha256_add(&h, said, sizeof said);
    }
    sha256_end(&h, ret->name);
}

static bool load_broken(const char *path, const cache_key *key, survey *s)
{
    json_t *kept = NULL;
    if (!path || !fs_exists(path) || json_read_file(path, &kept, NULL) != OK)
        return false;
    const char *of = json_string_value(json_object_get(kept, "of"));
    const json_t *broken = json_object_get(kept, "broken");
    bool good = of && strcmp(of, key->name) == 0 && json_is_array(broken);
    for (size_t k = 0; good && k < json_array_size(broken); k++) {
        const json_t *one = json_array_get(broken, k);
        json_int_t i = json_integer_value(json_array_get(one, 0));
        const char *why = json_string_value(json_array_get(one, 1));
        good = why && i >= 0 && (uint64_t)i < s->set->n;
        if (good && !s->broken[i])
            s->broken[i] = xstrdup(why);
    }
    json_decref(kept);
    return good;
}

static void keep_broken(const char *path, const cache_key *key, const survey *s)
{
    error why = ERROR_INIT;
    json_t *broken = json_array();
    for (size_t i = 0; i < s->set->n; i++) {
        if (!s->broken[i])
            continue;
        json_t *reason = json_string(s->broken[i]); /* NULL: a path in it is no UTF-8 */
        json_array_append_new(broken, json_pack("[I, o]", (json_int_t)i, reason ? reason : json_string("is broken")));
    }
    json_t *kept = json_pack("{s:s, s:o}", "of", key->name, "broken", broken);
    if (json_write_file(path, kept, &why) != OK)
        LOG_W("PICTURES", "all pictures are decoded again at each start: %s", why.text);
    json_decref(kept);
}

static status find_broken(survey *s, error *err)
{
    cache_key key;
    int64_t began_us = clock_us();
    make_key(s->set, &key);
    char *path = cache_path(&key, ".pictures");
    int lock = path ? cache_lock(path) : -1;
    status st = OK;
    if (!load_broken(path, &key, s)) {
        read_progress_begin("decoding all of", s->set->root, s->set->n, "pictures");
        st = parallel_for(rounds_of(s), 0, decode_round, s, err);
        if (st == OK)
            LOG_I("SURVEY", "pictures=%zu seconds=%.3f: each was decoded once", s->set->n,
                  (double)(clock_us() - began_us) * 1e-6);
        if (st == OK && path)
            keep_broken(path, &key, s);
    }
    cache_unlock(lock);
    free(path);
    return st;
}

/* --- what becomes of it --- */

static void tell(const survey *s, int64_t began_us)
{
    const tally *t = &s->found;
    LOG_I("PICTURES",
          "path=%s pictures=%zu classes=%d jpeg=%" PRId64 " png=%" PRId64 " webp=%" PRId64
          " sides=%d..%d bytes_of_one=%zu left_out=%" PRId64 " seconds=%.3f",
          s->set->root, s->set->n, s->set->classes ? words_count(s->set->classes) : 0, t->of_format[PICTURE_JPEG],
          t->of_format[PICTURE_PNG], t->of_format[PICTURE_WEBP], t->narrowest, t->widest, t->reading,
          s->set->n_left_out, (double)(clock_us() - began_us) * 1e-6);
    if (t->misnamed || t->sixteen_bits || t->cmyk)
        LOG_W("PICTURES",
              "path=%s other_than_their_names=%" PRId64 " sixteen_bits=%" PRId64 " cmyk=%" PRId64
              ": they are read as what they are, with 8 bits a channel, and without inks",
              s->set->root, t->misnamed, t->sixteen_bits, t->cmyk);
}

status picture_survey(picture_set *set, const picture_decoding *how, bool skips, error *err)
{
    int64_t began_us = clock_us();
    size_t n = set->n;
    survey s = {.set = set, .how = how, .broken = xcalloc(n + 1, sizeof *s.broken)};
    pthread_mutex_init(&s.lock, NULL);
    read_progress_begin("looking at", set->root, n, "pictures");
    status st = parallel_for(rounds_of(&s), 0, look_at_round, &s, err);
    if (st == OK && skips)
        st = find_broken(&s, err);
    if (st == OK)
        st = picture_set_settle(set, s.broken, "pictures", skips, err);
    set->reading = s.found.reading;
    if (st == OK)
        tell(&s, began_us);
    for (size_t i = 0; i < n; i++)
        free(s.broken[i]);
    free(s.broken);
    pthread_mutex_destroy(&s.lock);
    return st;
}
