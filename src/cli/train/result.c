#include "cli/train/result.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_figure(const char *before, const char *name, double x)
{
    printf(fabs(x) < 1e5 ? "%s%s %.4f" : "%s%s %.4g", before, name, x);
}

/* What an evaluation says of itself, and figures of single classes, as span_f1-PER. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {"step", "epochs_done", "final", "examples", "seconds"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strchr(name, '-') && !strstr(name, "-overall");
}

/* The best known ones first, then what model.metrics counts. */
static void print_validation(const json_t *summary)
{
    static const char *const names[] = {"accuracy", "loss", "perplexity"};
    json_t *metrics = json_copy(json_object_get(summary, "validation")), *value;
    const char *before = "validation: ", *name;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        value = json_object_get(metrics, names[i]);
        if (json_is_number(value)) {
            print_figure(before, names[i], json_number_value(value));
            before = "  ";
        }
        json_object_del(metrics, names[i]);
    }
    json_object_foreach(metrics, name, value)
    {
        if (!json_is_number(value) || is_left_out(name))
            continue;
        print_figure(before, name, json_number_value(value));
        before = "  ";
    }
    if (before[0] == ' ')
        printf("\n");
    json_decref(metrics);
}

/* Whose end was moved tells how it came to its steps. */
static status print_history(const char *job_dir, error *err)
{
    jobdir *d = NULL;
    buf text = BUF_INIT;
    TRY(jobdir_open(job_dir, &d, err));
    history_print_list(history_of(d), "\nhistory:", &text);
    if (text.data)
        fputs(text.data, stdout);
    buf_fini(&text);
    jobdir_close(&d);
    return OK;
}

static void print_divergence(const json_t *summary)
{
    if (!json_is_true(json_object_get(summary, "diverged")))
        return;
    printf("diverged: the training loss was %.4g in the first step and is %.4g, so the weights are "
           "worse than untrained ones; a lower trainer.optimizer.lr may help\n",
           json_number_value(json_object_get(summary, "first_loss")),
           json_number_value(json_object_get(summary, "training_loss")));
}

static const struct {
    const char *name, *what;
} files[] = {
    {"model.safetensors", "the trained weights"},
    {"model.onnx", "the network with them, for other programs"},
    {"model.tar.gz", "the best weights and the configuration, as one file"},
    {"best", "the weights that did best on validation data"},
    {"summary.json", "figures of the whole run"},
    {"metrics.json", "metrics at the end"},
    {"validation_confusion_matrix.png", "labels and what was predicted, by class"},
};

/* What each is stands in one column, however long the job dir's name. */
static void print_files(const char *job_dir)
{
    size_t widest = 0;
    for (size_t i = 0; i < COUNT_OF(files); i++)
        widest = strlen(files[i].name) > widest ? strlen(files[i].name) : widest;
    int width = (int)(strlen(job_dir) + 1 + widest);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *path = xasprintf("%s/%s", job_dir, files[i].name);
        if (fs_exists(path))
            printf("  %-*s  %s\n", width, path, files[i].what);
        free(path);
    }
}

status result_print(const char *job_dir, error *err)
{
    char *path = xasprintf("%s/summary.json", job_dir);
    json_t *s = NULL;
    status st = json_read_file(path, &s, err);
    free(path);
    TRY(st);
    printf("\ntrained %lld steps in %.1f s, %.0f examples/s\n",
           (long long)json_integer_value(json_object_get(s, "steps")),
           json_number_value(json_object_get(s, "wall_s")),
           json_number_value(json_object_get(s, "examples_per_s")));
    print_validation(s);
    print_divergence(s);
    json_decref(s);
    TRY(print_history(job_dir, err));

    printf("\nresults:\n");
    print_files(job_dir);
    printf("\nnext:\n"
           "  tequio inspect %s\n"
           "  tequio evaluate %s\n"
           "  tensorboard --logdir %s\n",
           job_dir, job_dir, job_dir);
    return OK;
}
