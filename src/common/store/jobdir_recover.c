/*
 * Whether a configuration is the job's, or the job's but for its end, which then moves.
 *
 * job.json keeps the end beside the digest of all keys that decide the result: a configuration with
 * another end is the job's if it has the job's digest with the job's end.
 */
#include "common/store/jobdir_internal.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "common/config/training.h"
#include "common/store/checkpoint.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- another configuration --- */

/* The lines of a digest but for those of keys in `without`. */
static void add_lines(const char *lines, const json_t *without, buf *ret)
{
    for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
        n = strcspn(lines, "\n");
        char *key = xasprintf("%.*s", (int)strcspn(lines, "=\n"), lines);
        if (!json_object_get(without, key))
            buf_addf(ret, "%.*s\n", (int)n, lines);
        free(key);
    }
}

/* The first key that differs, one that decides more than the end if there is one. */
static bool name_difference(const jobdir *d, const config *c, char *ret_key, size_t bytes)
{
    buf here = BUF_INIT, there = BUF_INIT;
    config_digest_lines(c, &here);
    size_t i;
    json_t *line, *end = config_end(c);
    json_array_foreach(json_object_get(d->job, "config_digest_lines"), i, line)
        buf_addf(&there, "%s\n", json_is_string(line) ? json_string_value(line) : "");
    bool named = false;
    for (int pass = 0; pass < 2 && !named; pass++) {
        buf ours = BUF_INIT, theirs = BUF_INIT;
        add_lines(here.data ? here.data : "", pass ? NULL : end, &ours);
        add_lines(there.data ? there.data : "", pass ? NULL : end, &theirs);
        named = config_digest_differs(ours.data ? ours.data : "", theirs.data ? theirs.data : "",
                                      ret_key, bytes);
        buf_fini(&ours);
        buf_fini(&theirs);
    }
    json_decref(end);
    buf_fini(&here);
    buf_fini(&there);
    return named;
}

static void add_value(const json_t *tree, const char *path, const char *where, buf *ret)
{
    const json_t *value = jobdir_value_at(tree, path);
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) : NULL;
    buf_addf(ret, "%.120s %s", text ? text : "absent", where);
    free(text);
}

/* ": 0.01 in the job, 0.02 now"; nothing where config.json is not the job's any more. */
static void jobdir_recover_add_values(const jobdir *d, const config *c, const char *key, buf *ret)
{
    char *path = jobdir_file(d, "config.json"), *dump = config_dump(c);
    json_t *theirs = NULL, *ours = NULL;
    if (json_read_file(path, &theirs, NULL) == OK &&
        json_parse(dump, strlen(dump), path, E_CONFIG, &ours, NULL) == OK &&
        !json_equal(jobdir_value_at(theirs, key), jobdir_value_at(ours, key))) {
        buf_adds(ret, ": ");
        add_value(theirs, key, "in the job, ", ret);
        add_value(ours, key, "now", ret);
    }
    json_decref(theirs);
    json_decref(ours);
    free(dump);
    free(path);
}

static void describe_difference(const jobdir *d, const config *c, buf *ret)
{
    char key[256] = "";
    if (name_difference(d, c, key, sizeof key)) {
        buf_adds(ret, key);
        jobdir_recover_add_values(d, c, key, ret);
    } else {
        buf_adds(ret, "(made by another version of Tequio)");
    }
}

static status fail_differs(const jobdir *d, const jobdir_request *r, error *err)
{
    buf what = BUF_INIT;
    describe_difference(d, r->config, &what);
    status st =
        r->rule == JOBDIR_ALLENNLP
            ? FAIL(err, E_CONFIG,
                   "Training configuration does not match the configuration we're recovering "
                   "from. First difference: %s",
                   what.data)
            : FAIL(err, E_CONFIG,
                   "job dir '%s' holds a job of another configuration; first difference: %s. Go "
                   "back to its configuration, choose another directory, or give --force to remove "
                   "that job and start over",
                   d->path, what.data);
    buf_fini(&what);
    return st;
}

/* --- another end --- */

/* Nobody can go back behind what is trained; nor, in ssp and async, may the end come nearer, for
 * batches behind the new one may be in the weights. */
static status check_end(const jobdir *d, const jobdir_request *r, bool is_done, error *err)
{
    const config *c = r->config;
    int64_t reached = r->step;
    if (!jobdir_must_go_back(d, r, is_done))
        TRY(checkpoint_newest(d, &reached, err));
    if (reached < 0)
        TRY(checkpoint_check_lost(d, err));
    if (is_done && reached < 0)
        return FAIL(err, E_CONFIG,
                    "the job in '%s' is done and has no checkpoint any more to go on from: train "
                    "anew in another directory, from its model.safetensors if you like "
                    "(model.pretrained)",
                    d->path);
    int64_t examples = json_integer_value(json_object_get(d->job, "examples_per_epoch"));
    int64_t k = jobdir_batches_per_step(d);
    if (examples < 1 || k < 1)
        return OK; /* it made no step yet */
    steps_kinds kinds;
    jobdir_batch_kinds(d, &kinds);
    steps s = training_steps(c, examples, &kinds, k);
    int64_t before = training_end(&s, json_object_get(d->job, "end"));
    int64_t now = training_total(&s, c);
    schedule paced = training_schedule(c);
    if (now < reached)
        return FAIL(err, E_CONFIG,
                    "the job in '%s' has reached step %lld, but with trainer.num_epochs and "
                    "trainer.max_steps as they are now it would end at step %lld (an epoch has "
                    "%lld): let it end at step %lld or later, or choose another directory",
                    d->path, (long long)reached, (long long)now, (long long)steps_per_epoch(&s),
                    (long long)reached);
    if (now < before && schedule_lists_units(&paced))
        return FAIL(err, E_CONFIG,
                    "in the modes ssp and async a job cannot end earlier than it was to: '%s' was "
                    "to end at step %lld, now at step %lld, and may have trained batches behind "
                    "that",
                    d->path, (long long)before, (long long)now);
    return OK;
}

static bool has_other_end(const jobdir *d, const config *c)
{
    return !jobdir_has_config(d, c) && jobdir_has_digest(d, c, json_object_get(d->job, "end"));
}

bool jobdir_can_move_end(const jobdir *d, const config *c)
{
    return has_other_end(d, c) && check_end(d, &(jobdir_request){.config = c}, true, NULL) == OK;
}

status jobdir_check_config(const jobdir *d, const config *c, error *err)
{
    jobdir *now = jobdir_create(d->path);
    status st = jobdir_load(now, err);
    if (st == OK && now->job && !jobdir_has_config(now, c) && !has_other_end(now, c)) {
        buf what = BUF_INIT;
        describe_difference(now, c, &what);
        st = FAIL(err, E_CONFIG,
                  "the job in '%s' has another configuration than was given here; first difference: "
                  "%s. Start every task with the same one",
                  d->path, what.data);
        buf_fini(&what);
    }
    jobdir_close(&now);
    return st;
}

status jobdir_check_other_end(const jobdir *d, const jobdir_request *r, bool is_done, error *err)
{
    return has_other_end(d, r->config) ? check_end(d, r, is_done, err)
                                       : fail_differs(d, r, err);
}

/* --- moving --- */

static json_t *time_now(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    return json_string(text);
}

status jobdir_move_end(jobdir *d, error *err)
{
    const config *c = d->moves_to;
    int64_t reached;
    TRY(checkpoint_newest(d, &reached, err));
    TRY(jobdir_remove_results(d, err)); /* first: a job is never done by an end it has not reached */
    json_t *history = json_object_get(d->job, "history");
    if (!json_is_array(history)) {
        history = json_array();
        json_object_set_new(d->job, "history", history);
    }
    json_t *entry = json_pack("{s:o, s:I, s:O, s:o}", "time", time_now(), "step",
                              (json_int_t)(reached < 0 ? 0 : reached), "was",
                              json_object_get(d->job, "end"), "is", config_end(c));
    BUG_ON(!entry);
    json_array_append_new(history, entry);
    jobdir_put_config(d, c);
    TRY(jobdir_save(d, err));
    d->moves_to = NULL;
    return jobdir_save_config(d, c, err);
}
