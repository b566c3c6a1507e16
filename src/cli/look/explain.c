/* `tequio explain`: what bounds a job, running or not, and what to try. */
#include "cli/commands.h"
#include "cli/inspect/text.h"
#include "cli/look/explain_text.h"
#include "cli/look/job_view.h"

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

static void print_text(const explain_facts *f, const suggestions *s, const json_t *job)
{
    buf text = BUF_INIT;
    buf_addf(&text, "%s: %s\n", inspect_str(job, "dir"), inspect_str(job, "state"));
    explain_shares_text(f, &text);
    buf_adds(&text, "\n");
    add_sentences(f, s, &text);
    if (s->n)
        buf_adds(&text, "\nwhat to try, each by itself\n");
    explain_suggestions_text(s, &text);
    fputs(text.data, stdout);
    buf_fini(&text);
}

static void print_json(const explain_facts *f, const suggestions *s)
{
    json_t *o = explain_json(f, s);
    buf text = BUF_INIT;
    json_pretty(o, &text);
    fputs(text.data, stdout);
    buf_fini(&text);
    json_decref(o);
}

static status explain(const args *a, const job_view *v, error *err)
{
    json_t *config = NULL;
    TRY(read_config(a->operands[0], &config, err));
    const explain_facts f = explain_facts_of(v->job, v->live, config);
    suggestions s;
    if (f.shares.lane_s <= 0) {
        json_decref(config);
        return FAIL(err, E_DATA, "'%s' does not say where its time went: no worker has told of a slot that it computed "
                    "(live.json)", a->operands[0]);
    }
    suggestions_make(&f, &s);
    if (args_has(a, "json"))
        print_json(&f, &s);
    else
        print_text(&f, &s, v->job);
    json_decref(config);
    return OK;
}

static int run(const args *a, error *err)
{
    job_view v;
    status st = job_view_open(a->operands[0], &v, err);
    if (st == OK) {
        st = explain(a, &v, err);
        job_view_close(&v);
    }
    if (st != OK)
        error_prepend(err, "explain");
    return status_exit_code(st);
}

static const flag flags[] = {
    {"json", 0, FLAG_SWITCH, NULL, "Output", "Print JSON, for programs.", 0, 0},
};

const command command_explain = {
    .name = "explain",
    .operands = "JOB_DIR",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "What bounds a job: where the time of its lanes goes, and what to try.",
    .about = "Looks into the job dir, of a job that runs or of one that has ended, for what its tasks tell of their "
             "time in JOB_DIR/live.json: input, compute, wire, servers, stragglers, checkpoints and what else there "
             "is, in shares of all the time of all lanes. Then five sentences, and what could be changed, each with "
             "what it would save at the most and how that was worked out.",
    .flags = flags,
    .n_flags = COUNT_OF(flags),
    .run = run,
};
