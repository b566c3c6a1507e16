/* `tequio explain`: what bounds a job, running or not, and what to try. */
#include "cli/commands.h"
#include "cli/inspect/text.h"
#include "cli/look/explain_text.h"
#include "cli/look/explain_waits.h"
#include "cli/look/job_view.h"
#include "cli/look/place.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"

#include <stdio.h>
#include <stdlib.h>

/* *ret stays NULL where there is none. */
static status read_config(const char *job_dir, json_t **ret, error *err)
{
    char *path = xasprintf("%s/config.json", job_dir);
    status st = fs_exists(path) ? json_read_file(path, ret, err) : OK;
    free(path);
    return st;
}

static void add_sentences(const explain_facts *f, const suggestions *s, buf *ret)
{
    buf sentences[EXPLAIN_SENTENCES] = {BUF_INIT};
    explain_sentences(f, s, sentences);
    for (size_t i = 0; i < EXPLAIN_SENTENCES; i++) {
        buf_addf(ret, "%s\n", sentences[i].data);
        buf_fini(&sentences[i]);
    }
}

static void add_shares(const explain_facts *f, const suggestions *s, buf *ret)
{
    explain_shares_text(f, ret);
    buf_adds(ret, "\n");
    add_sentences(f, s, ret);
    if (s->n)
        buf_adds(ret, "\nwhat to try, each by itself\n");
    explain_suggestions_text(s, ret);
}

static void print_text(const explain_facts *f, const suggestions *s, const json_t *job, const json_t *waits)
{
    buf text = BUF_INIT;
    buf_addf(&text, "%s: %s\n", inspect_str(job, "dir"), inspect_str(job, "state"));
    if (f->shares.lane_s > 0)
        add_shares(f, s, &text);
    else if (*inspect_str(job, "live_trouble"))
        buf_addf(&text, "  it is not known where its time went: %s\n", inspect_str(job, "live_trouble"));
    if (f->shares.lane_s > 0 && waits)
        buf_adds(&text, "\n");
    if (waits)
        explain_waits_text(waits, &text);
    fputs(text.data, stdout);
    buf_fini(&text);
}

static void print_json(const explain_facts *f, const suggestions *s, json_t *waits)
{
    json_t *o = f->shares.lane_s > 0 ? explain_json(f, s) : json_object();
    buf text = BUF_INIT;
    if (waits)
        json_object_set(o, "events", waits);
    json_pretty(o, &text);
    fputs(text.data, stdout);
    buf_fini(&text);
    json_decref(o);
}

static status fail_unknown(const char *dir, const job_view *v, error *err)
{
    const char *trouble = inspect_str(v->job, "live_trouble");
    if (*trouble)
        return FAIL(err, E_DATA, "'%s' does not say where its time went: %s", dir, trouble);
    return FAIL(err, E_DATA, "'%s' does not say where its time went: no worker has told of a slot that it computed "
                "(live.json)", dir);
}

static status explain(const args *a, const char *dir, const job_view *v, error *err)
{
    json_t *config = NULL, *waits = NULL;
    suggestions s;
    status st = read_config(dir, &config, err);
    if (st == OK)
        st = explain_waits(dir, v->live, &waits, err);
    const explain_facts f = explain_facts_of(v->job, v->live, config);
    if (st == OK && f.shares.lane_s <= 0 && !waits)
        st = fail_unknown(dir, v, err);
    s.n = 0;
    if (f.shares.lane_s > 0)
        suggestions_make(&f, &s);
    if (st == OK && args_has(a, "json"))
        print_json(&f, &s, waits);
    else if (st == OK)
        print_text(&f, &s, v->job, waits);
    json_decref(config);
    json_decref(waits);
    return st;
}

static status explain_dir(const args *a, const char *dir, error *err)
{
    job_view v;
    TRY(job_view_open(dir, &v, err));
    status st = explain(a, dir, &v, err);
    job_view_close(&v);
    return st;
}

/* Over there it is this very command. */
static status explain_there(const args *a, const place *p, error *err)
{
    if (!place_is_ssh(p))
        return FAIL(err, E_USAGE, "'%s' tells less than is needed: name the job dir, or ssh://HOST/DIR", place_word(p));
    return place_become(p, (const char *[]){"explain", args_has(a, "json") ? "--json" : NULL, NULL},
                        (const char *[]){NULL}, err);
}

static int run(const args *a, error *err)
{
    place *p = NULL;
    status st = place_open(a, a->operands[0], &p, err);
    if (st == OK)
        st = place_dir(p) ? explain_dir(a, place_dir(p), err) : explain_there(a, p, err);
    if (st != OK)
        error_prepend(err, "explain");
    place_close(&p);
    return status_exit_code(st);
}

static const flag flags[] = {
    {"json", 0, FLAG_SWITCH, NULL, "Output", "Print JSON, for programs.", 0, 0},
    PLACE_FLAGS,
};

const command command_explain = {
    .name = "explain",
    .operands = "JOB_DIR|ssh://HOST/DIR",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "What bounds a job, and who holds it up: where the time of its lanes goes, and what to try.",
    .about = "Looks into the job dir, of a job that runs or of one that has ended, for what its tasks tell of their "
             "time in JOB_DIR/live.json: input, compute, wire, servers, stragglers, checkpoints and what else there "
             "is, in shares of all the time of all lanes. Then five sentences, and what could be changed, each with "
             "what it would save at the most and how that was worked out. Where tasks have written what they did "
             "last, into JOB_DIR/log/events (on SIGUSR1, when a wait is too long, when they die), also who holds up "
             "the others, by what and since when, and what each did last.",
    .flags = flags,
    .n_flags = COUNT_OF(flags),
    .run = run,
};
