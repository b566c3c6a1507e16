#include "cli/look/exposition.h"

#include "cli/inspect/text.h"
#include "common/base/alloc.h"
#include "watch/metrics/sample.h"

#include <string.h>

/* What the master tells of a job as one number, by its key in live.json. */
static const struct {
    const char *name, *type, *key, *help;
    bool of_life;       /* it means something only while the job runs */
} figures[] = {
    {"tequio_steps_total", "counter", "step", "Steps that are complete.", false},
    {"tequio_steps_planned", "gauge", "total_steps", "Steps that the job will have.", false},
    {"tequio_examples_total", "counter", "examples", "Examples that were trained on.", false},
    {"tequio_examples_per_second", "gauge", "examples_per_s", "Examples a second, over the last seconds.", true},
    {"tequio_remaining_seconds", "gauge", "eta_s", "Time until the last step, if all goes on as it does.", true},
    {"tequio_training_seconds_total", "counter", "wall_s", "Time since the job began, over all its starts.", false},
    {"tequio_loss", "gauge", "loss", "Loss of the newest step.", false},
    {"tequio_accuracy", "gauge", "accuracy", "Accuracy of the newest step.", false},
    {"tequio_learning_rate", "gauge", "learning_rate", "Learning rate of the newest step.", false},
    {"tequio_checkpoint_step", "gauge", "checkpoint", "Step of the newest checkpoint; -1: there is none.", false},
    {"tequio_starts_total", "counter", "start", "Starts of the job.", false},
    {"tequio_disk_wait_seconds", "gauge", "disk_s", "Time for which the job dir has taken nothing.", true},
};

/* As job_view and state.json have them. */
static const char *const states[] = {"running", "finished", "unfinished", "preempted", "failed"};

/* `label` NULL: the run is the only one. */
static void add_sample(const char *name, const char *dir, const char *label, const char *of, double value, buf *ret)
{
    sample_add(name, (const sample_label[]){{"run", dir}, {label, of}}, label ? 2 : 1, value, ret);
}

/* The master is at work: what it told last is how things stand. */
static bool lives(const job_view *v)
{
    return job_view_runs(v) && v->live && strcmp(inspect_str(v->live, "phase"), "over") != 0;
}

static void add_figure(size_t which, char *const *dirs, const job_view *views, size_t n, buf *ret)
{
    sample_head(figures[which].name, figures[which].type, figures[which].help, ret);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_object_get(views[i].live, figures[which].key);
        if (json_is_number(value) && (!figures[which].of_life || lives(&views[i])))
            add_sample(figures[which].name, dirs[i], NULL, NULL, json_number_value(value), ret);
    }
}

static void add_readable(char *const *dirs, const job_view *views, size_t n, buf *ret)
{
    sample_head("tequio_readable", "gauge", "1 for a job dir that can be read.", ret);
    for (size_t i = 0; i < n; i++)
        add_sample("tequio_readable", dirs[i], NULL, NULL, views[i].job != NULL, ret);
}

static void add_states(char *const *dirs, const job_view *views, size_t n, buf *ret)
{
    sample_head("tequio_state", "gauge", "1 for the state of the job, 0 for all others.", ret);
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; views[i].job && s < COUNT_OF(states); s++)
            add_sample("tequio_state", dirs[i], "state", states[s],
                       strcmp(inspect_str(views[i].job, "state"), states[s]) == 0, ret);
}

static void add_validation(char *const *dirs, const job_view *views, size_t n, buf *ret)
{
    static const char prefix[] = "validation_";
    sample_head("tequio_validation", "gauge", "Metrics of validation data, of the newest epoch that was evaluated.",
                ret);
    for (size_t i = 0; i < n; i++) {
        const char *key;
        json_t *value;
        json_object_foreach(json_object_get(views[i].job, "metrics"), key, value)
        {
            if (strncmp(key, prefix, strlen(prefix)) == 0 && json_is_number(value))
                add_sample("tequio_validation", dirs[i], "metric", key + strlen(prefix), json_number_value(value), ret);
        }
    }
}

/* --- while it runs --- */

static void add_age(char *const *dirs, const job_view *views, size_t n, double now, buf *ret)
{
    sample_head("tequio_told_seconds", "gauge", "Time since the master told of the job; it does so every two seconds.",
             ret);
    for (size_t i = 0; i < n; i++) {
        const json_t *time = json_object_get(views[i].live, "time");
        if (lives(&views[i]) && json_is_number(time))
            add_sample("tequio_told_seconds", dirs[i], NULL, NULL, now - json_number_value(time), ret);
    }
}

static void add_waits(char *const *dirs, const job_view *views, size_t n, buf *ret)
{
    sample_head("tequio_waits", "gauge", "For how many the job waits since a second or longer.", ret);
    for (size_t i = 0; i < n; i++) {
        const json_t *waits = json_object_get(views[i].live, "waits");
        if (lives(&views[i]) && waits)
            add_sample("tequio_waits", dirs[i], NULL, NULL,
                       (double)json_array_size(waits) + (double)inspect_int(views[i].live, "waits_left_out"), ret);
    }
}

typedef double task_value(const json_t *task);

static double is_at_work(const json_t *task)
{
    return strcmp(inspect_str(task, "state"), "at work") == 0;
}

static double silence(const json_t *task)
{
    return json_number_value(json_object_get(task, "silent_s"));
}

static void add_tasks(const char *name, const char *help, task_value *value_of, char *const *dirs,
                      const job_view *views, size_t n, buf *ret)
{
    static const char *const kinds[] = {"servers", "workers"};
    sample_head(name, "gauge", help, ret);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; lives(&views[i]) && k < COUNT_OF(kinds); k++) {
            size_t at;
            json_t *task;
            json_array_foreach(json_object_get(views[i].live, kinds[k]), at, task)
                add_sample(name, dirs[i], "task", inspect_str(task, "task"), value_of(task), ret);
        }
}

void exposition_text(char *const *dirs, const job_view *views, size_t n, double now, buf *ret)
{
    add_readable(dirs, views, n, ret);
    add_states(dirs, views, n, ret);
    for (size_t i = 0; i < COUNT_OF(figures); i++)
        add_figure(i, dirs, views, n, ret);
    add_validation(dirs, views, n, ret);
    add_age(dirs, views, n, now, ret);
    add_waits(dirs, views, n, ret);
    add_tasks("tequio_task_up", "1 for a task that is at work.", is_at_work, dirs, views, n, ret);
    add_tasks("tequio_task_silent_seconds", "Time since the master heard of the task.", silence, dirs, views, n, ret);
}
