/*
 * What the metrics say after two deaths at once: a worker's, and that of whoever alone had been told
 * what it measured. Moments are counted through, not drawn: the master dies (or freezes) at a report
 * that comes, a worker at an acknowledgement of a part or before it pushes one, in the same step or
 * soon after; with standbys a server dies too.
 *
 *   reports [FROM COUNT [STRIDE]]     the jobs of these numbers; otherwise those that suffice
 *
 * Every line of metrics.jsonl is to be that of the job that nobody disturbed; in mode async every line
 * is to have its loss.
 */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "fault/process_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 60, LOG_LINES = 200, STEPS = 12, SLOTS = 4, PARTS = 4, LAGS = 11 };

#define JOB                                                                                        \
    "\"validation_data_path\": null, \"trainer.save_summary_steps\": 1, " \
    "\"trainer.save_checkpoints_steps\": null"
#define NO_VOTE ", \"trainer.grad_norm\": null, \"trainer.loss_scale\": null"

static const struct {
    const char *name, *overrides;
    bool any_weights; /* its mode does not promise the same ones */
} kinds[] = {
    {"sync", "{" JOB NO_VOTE "}", false},
    {"a vote", "{" JOB "}", false},
    {"standbys", "{" JOB NO_VOTE ", \"distributed.ps_replicas\": 1}", false},
    {"async", "{" JOB NO_VOTE ", \"distributed.mode\": \"async\"}", true},
};

/* Numbers: of the report, of the push or its acknowledgement. */
static const char *const deaths[] = {
    "kill=master.0@report<:%d,kill=worker.1@pushed<:%d",
    "kill=master.0@report<:%d,kill=worker.1@push>:%d",
    "freeze=master.0@report<:%d:1300ms,kill=worker.1@pushed<:%d",
    "kill=master.0@report<:%d,freeze=worker.1@pushed<:%d:1300ms,kill=worker.1@3s",
    "kill=master.0@report<:%d,kill=worker.1@pushed<:%d,kill=ps.1@report<:9,kill=master.0#2@ready<:1",
    "kill=master.0@report<:%d,kill=worker.1@pushed<:%d,drop=worker.0:4%%,drop=ps.0:4%%",
};

static const char *dir;
static char *expected[COUNT_OF(kinds)]; /* the lines of the job that nobody disturbed */
static process_cluster_result results[COUNT_OF(kinds)];

/* All lines without what a clock has put there. *ret_null: how many have no loss. */
static char *lines_of(const char *job, int *ret_null)
{
    char *path = xasprintf("%s/%s/metrics.jsonl", dir, job), *save = NULL;
    buf text = BUF_INIT, ret = BUF_INIT;
    *ret_null = 0;
    if (fs_read(path, 1 << 20, &text, NULL) != OK)
        buf_addf(&text, "\n");
    for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_t *one = json_loads(line, 0, NULL);
        *ret_null += !json_is_real(json_object_get(one, "loss"));
        json_object_del(one, "examples_per_s");
        json_object_del(one, "wall_s");
        char *kept = json_dumps(one, JSON_SORT_KEYS);
        buf_addf(&ret, "%s\n", kept ? kept : line);
        free(kept);
        json_decref(one);
    }
    buf_fini(&text);
    free(path);
    return ret.data ? ret.data : xstrdup("");
}

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* NULL: all is well. */
static const char *what_is_wrong(size_t kind, int code)
{
    process_cluster_result got;
    int null;
    char *lines = lines_of("job", &null);
    bool same = kinds[kind].any_weights ? count_lines(lines) == STEPS * SLOTS && !null
                                        : strcmp(lines, expected[kind]) == 0;
    for (const char *at = same ? "" : lines, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        char *one = xasprintf("%.*s\n", (int)(end - at), at);
        if (!strstr(expected[kind], one) && (!kinds[kind].any_weights || !strstr(one, "\"loss\"")))
            printf("%s", one);
        free(one);
    }
    free(lines);
    if (code)
        return "the launcher's code";
    if (!process_cluster_result_of(dir, "job", &got) || got.batches != results[kind].batches)
        return "batches applied";
    if (!kinds[kind].any_weights && strcmp(got.sha256, results[kind].sha256) != 0)
        return "other weights";
    return same ? NULL : "other metrics";
}

/* Which job has that number: the kind turns fastest, then the deaths, then their moments. */
static bool play(long number)
{
    size_t kind = (size_t)number % COUNT_OF(kinds), n = (size_t)number / COUNT_OF(kinds);
    const char *death = deaths[n % COUNT_OF(deaths)];
    n /= COUNT_OF(deaths);
    int lag = (int)(n % LAGS), report = 1 + (int)(n / LAGS % (STEPS * SLOTS));
    char spec[200];
    snprintf(spec, sizeof spec, death, report, (report - 1) / SLOTS * PARTS + 1 + lag);
    char *job = xasprintf("%s/job", dir), *log = xasprintf("%s/said.log", dir);
    remove(log);
    const char *const arguments[] = {"-s",   job,  "--force", "--workers",          "2",
                                     "--ps", "2",  "-o",      kinds[kind].overrides, "--fault",
                                     spec,   NULL};
    const char *wrong = what_is_wrong(kind, process_cluster_train(dir, "said", arguments, LIMIT_S));
    if (wrong) {
        printf("WRONG job %ld (%s, --fault %s): %s\n", number, kinds[kind].name, spec, wrong);
        process_cluster_print_log(dir, "said", LOG_LINES);
    }
    fflush(stdout);
    free(job);
    free(log);
    return !wrong;
}

/* Each kind with three of the deaths, at moments that are spread over the job. */
static long suffices(long i)
{
    enum { TURN = COUNT_OF(kinds) * COUNT_OF(deaths), STRIDE = 101, EVERY_OTHER = 2 };
    long kind = i % (long)COUNT_OF(kinds), death = i / (long)COUNT_OF(kinds) * EVERY_OTHER;
    return kind + (long)COUNT_OF(kinds) * death +
           TURN * (STRIDE * (i + 1) % (LAGS * STEPS * SLOTS));
}

int main(int argc, char **argv)
{
    char *folder = process_cluster_folder();
    dir = folder;
    long from = argc > 2 ? atol(argv[1]) : 0, count = argc > 2 ? atol(argv[2]) : 0,
         stride = argc > 3 ? atol(argv[3]) : 1, n_wrong = 0;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        int null;
        results[k] = process_cluster_undisturbed(dir, kinds[k].overrides, LIMIT_S);
        expected[k] = lines_of("undisturbed", &null);
        n_wrong += null;
    }
    enum { FEW = 3 * COUNT_OF(kinds) };
    for (long i = 0; i < (count ? count : FEW); i++)
        n_wrong += !play(count ? from + i * stride : suffices(i));
    printf("%ld jobs, %ld wrong\n", count ? count : FEW, n_wrong);
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        free(expected[k]);
    if (fs_remove_tree(folder, NULL) != OK)
        printf("left behind: %s\n", folder);
    free(folder);
    return n_wrong > 0;
}
