/*
 * Deaths that a single kill does not show: two at once, all at once, and the master's, of which
 * nobody else takes notice.
 */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "fault/process_cluster.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 60, LOG_LINES = 30 };

/* Long enough to be hit in its middle, with checkpoints or with none before the end. */
#define LONG "{\"trainer.num_epochs\": 8}"
#define BARE                                                                                       \
    "{\"trainer.num_epochs\": 8, \"validation_data_path\": null, "                                 \
    "\"trainer.save_checkpoints_steps\": "                                                         \
    "null, \"trainer.save_checkpoints_secs\": null}"
/* Slow enough to be hit. */
#define SLOWLY "delay=worker.0:10ms,delay=worker.1:10ms"

static const char *dir;
static int n_wrong;

static void wrong(const process_cluster *h, const char *scene, const char *what)
{
    printf("WRONG %s: %s\n", scene, what);
    if (h)
        process_cluster_print_logs(h, LOG_LINES);
    n_wrong++;
}

static void check_result(const process_cluster *h, const char *scene, const process_cluster_result *expected)
{
    process_cluster_result got;
    if (!process_cluster_result_of(dir, "job", &got))
        wrong(h, scene, "no summary");
    else if (strcmp(got.sha256, expected->sha256) != 0)
        wrong(h, scene, "other weights than the undisturbed job's");
    else if (got.batches != expected->batches)
        wrong(h, scene, "not every batch counts once");
}

/* Until that task has said it so often; whoever dies meanwhile is started again. */
static bool await_word(process_cluster *h, const char *name, const char *text, int times)
{
    int64_t until = clock_us() + LIMIT_S * INT64_C(1000000);
    while (process_cluster_says(h, name, text) < times)
        if (!process_cluster_turn(h) || clock_us() > until)
            return false;
    return true;
}

/* --- two at once --- */

static void check_pair(const char *one, const char *other, const char *word,
                       const process_cluster_result *expected)
{
    char scene[80];
    snprintf(scene, sizeof scene, "%s and %s after %s", one, other, word);
    process_cluster h;
    process_cluster_start(&h, &(process_cluster_options){.dir = dir, .spec = SLOWLY, .overrides = LONG});
    if (!await_word(&h, "master.0", word, 1))
        wrong(&h, scene, "the moment did not come");
    process_cluster_signal(&h, one, SIGKILL);
    process_cluster_signal(&h, other, SIGKILL);
    if (!process_cluster_end(&h, LIMIT_S))
        wrong(&h, scene, "some did not end by themselves");
    if (!process_cluster_was_killed(process_cluster_task_of(&h, one), 1) ||
        !process_cluster_was_killed(process_cluster_task_of(&h, other), 1))
        wrong(&h, scene, "they ended before they were killed");
    for (int i = 0; i < h.n; i++)
        if (process_cluster_code(&h.tasks[i]) != 0)
            wrong(&h, scene, h.tasks[i].name);
    check_result(&h, scene, expected);
    process_cluster_fini(&h);
    printf("%s: done\n", scene);
}

static void check_pairs(void)
{
    static const char *const pairs[][2] = {{"worker.1", "ps.0"},
                                           {"master.0", "ps.1"},
                                           {"master.0", "worker.0"},
                                           {"ps.0", "ps.1"},
                                           {"worker.0", "worker.1"}};
    static const char *const words[] = {" FIRST_STEP ", " CHECKPOINT "};
    process_cluster_result expected = process_cluster_undisturbed(dir, LONG, LIMIT_S);
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        check_pair(pairs[i][0], pairs[i][1], words[i % COUNT_OF(words)], &expected);
}

/* --- all --- */

/* Then the job is started again: as it was, and with another number of tasks. */
static void check_all_dead(bool as_it_was)
{
    const char *scene = as_it_was ? "all, started again" : "all, started again as others";
    process_cluster_result expected = process_cluster_undisturbed(dir, LONG, LIMIT_S);
    process_cluster h;
    process_cluster_start(&h, &(process_cluster_options){.dir = dir, .spec = SLOWLY, .overrides = LONG});
    if (!await_word(&h, "master.0", " CHECKPOINT ", 1))
        wrong(&h, scene, "the moment did not come");
    process_cluster_fini(&h); /* nobody is started again */
    process_cluster_result got;
    if (process_cluster_result_of(dir, "job", &got))
        wrong(&h, scene, "the job was done before all were killed");
    char *job = xasprintf("%s/job", dir);
    const char *const arguments[] = {
        "-s", job,  "--recover", "--workers", as_it_was ? "2" : "3", "--ps", as_it_was ? "2" : "1",
        "-o", LONG, NULL};
    if (process_cluster_train(dir, "again", arguments, LIMIT_S) != 0)
        wrong(NULL, scene, "the second start failed");
    check_result(NULL, scene, &expected);
    free(job);
    printf("%s: done\n", scene);
}

/* --- the master --- */

/* The number behind `name` in every line of that task with that word: do they only grow, and what
 * is the last one? */
static bool only_grows(const char *who, const char *word, const char *name, long long *ret_last)
{
    char *path = xasprintf("%s/%s.log", dir, who);
    buf all = BUF_INIT;
    bool grows = fs_read(path, 64 << 20, &all, NULL) == OK;
    long long last = -1;
    for (char *line = all.data, *next; grows && line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        const char *at = strstr(line, word) ? strstr(line, name) : NULL;
        if (!at)
            continue;
        long long value = strtoll(at + strlen(name), NULL, 10);
        grows = value >= last;
        last = value;
    }
    buf_fini(&all);
    free(path);
    *ret_last = last;
    return grows;
}

/* There is no checkpoint to go back to: whoever went back would begin anew. */
static void check_master(void)
{
    static const char *const servers[] = {"ps.0", "ps.1"}, *const workers[] = {"worker.0",
                                                                               "worker.1"};
    static const char scene[] = "the master";
    enum { STEPS_BEFORE = 8 };
    process_cluster_result expected = process_cluster_undisturbed(dir, BARE, LIMIT_S);
    process_cluster h;
    process_cluster_start(&h, &(process_cluster_options){.dir = dir,
                                       .spec = "kill=master.0@verdict>:22," SLOWLY,
                                       .overrides = BARE});
    if (!process_cluster_end(&h, LIMIT_S))
        wrong(&h, scene, "some did not end by themselves");
    if (!process_cluster_was_killed(process_cluster_task_of(&h, "master.0"), 1))
        wrong(&h, scene, "it was not killed");
    for (int i = 1; i < h.n; i++)
        if (h.tasks[i].n_lives != 1 || process_cluster_code(&h.tasks[i]) != 0)
            wrong(&h, scene, "another task was started again, or failed");
    for (size_t i = 0; i < 2; i++) {
        long long last;
        if (!only_grows(servers[i], " READY ", " step=", &last))
            wrong(&h, scene, "the versions of a server went back");
        if (!only_grows(workers[i], " BEGIN ", " step=", &last) || last < STEPS_BEFORE)
            wrong(&h, scene, "a worker went back");
    }
    check_result(&h, scene, &expected);
    process_cluster_fini(&h);
    printf("%s: done\n", scene);
}

int main(void)
{
    char *folder = process_cluster_folder();
    dir = folder;
    check_master();
    check_pairs();
    check_all_dead(true);
    check_all_dead(false);
    if (fs_remove_tree(folder, NULL) != OK)
        printf("left behind: %s\n", folder);
    free(folder);
    printf("%d wrong\n", n_wrong);
    return n_wrong > 0;
}
