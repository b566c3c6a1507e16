/* The manual page, in roff with the macros of man(7). */
#include "cli/line/help.h"
#include "common/base/alloc.h"
#include "common/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fact {
    const char *name, *text;
} fact;

static const fact environment[] = {
    {"TF_CONFIG",
     "Cluster and task of this process, as TensorFlow, Kubeflow, AI Platform and Vertex "
     "AI set it; train then runs that task. CLUSTER_SPEC and the variables of Slurm "
     "and SageMaker are read where it is not set."},
    {"AIP_CHECKPOINT_DIR, AIP_MODEL_DIR, AIP_TENSORBOARD_LOG_DIR",
     "Vertex AI's folders: the job dir, where none is named; what gets a copy of the model at the end; and "
     "what gets the event files."},
    {"TEQUIO_GCS", "Folder in which buckets of Cloud Storage are mounted, for paths that begin with "
                   "gs://; /gcs unless set."},
    {"GCE_METADATA_HOST", "Compute Engine's metadata server, for --gce-maintenance, if it is another than "
                          "metadata.google.internal."},
    {"TEQUIO_SET", "Settings \"dotted.key=json\", one a line; between the file and --overrides."},
    {"TEQUIO_FAULT", "What --fault says, for a task that is started without it."},
    {"TEQUIO_FAULT_LIFE", "Which life of its task this is, from 1: kills and freezes are of the "
                          "first one unless another is named. A local cluster sets it."},
    {"TEQUIO_CACHE", "Folder for the indexes of data files, those that were inflated, and plans of cuDNN, instead of "
                     "tequio/data and tequio/plans in XDG_CACHE_HOME or ~/.cache."},
    {"TEQUIO_MEMORY", "Memory that this process may have, as 8G, instead of what /proc/meminfo and its "
                      "cgroups leave; unlimited: nothing is refused for lack of it. A local cluster deals "
                      "it to its workers."},
    {"TEQUIO_EVENTS", "off: the process keeps no flight recorder, which holds what it did last."},
    {"TEQUIO_LOG_LEVEL", "error, warn, info (default) or debug."},
    {"OMP_WAIT_POLICY", "passive unless set, with GOMP_SPINCOUNT=10000: threads that wait for longer "
                        "than a moment leave the cores to other tasks."},
    {"TMPDIR", "Folder for temporary files."},
};

static const char *exit_meaning(int code)
{
    switch (code) {
    case 0:
        return "Done.";
    case 1:
        return "Failure, among them input/output, memory, numbers that are not finite.";
    case 2:
        return "Wrong usage or configuration.";
    case 3:
        return "Wrong data.";
    case 4:
        return "The model cannot be run.";
    case 143:
        return "Stopped on request; the job can be resumed.";
    case 200:
        return "A task of the cluster was lost for good.";
    case 201:
        return "A device failed.";
    case 202:
        return "The job dir could not be written, for want of room or by its disk, or another "
               "master lives in it.";
    default:
        return NULL;
    }
}

/* Every exit code once, in ascending order: STATUS_MAP lists them so. */
static bool next_exit_code(int *code)
{
    int best = -1;
    for (status s = OK; s < STATUS_COUNT; s++) {
        int c = status_exit_code(s);
        if (c > *code && (best < 0 || c < best))
            best = c;
    }
    *code = best;
    return best >= 0;
}

/* Text that roff must not take for its own. */
static void add_roff(buf *ret, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            buf_adds(ret, "\\&");
        if (*text == '\\')
            buf_adds(ret, "\\e");
        else if (*text == '-')
            buf_adds(ret, "\\-");
        else if (text[0] == '\n' && text[1] == '\n')
            buf_adds(ret, "\n.PP"); /* the second one ends this line */
        else
            buf_add(ret, text, 1);
        line_start = *text == '\n';
    }
}

static void man_item(buf *ret, const char *name, const char *text)
{
    buf_adds(ret, ".TP\n.B ");
    add_roff(ret, name);
    buf_adds(ret, "\n");
    add_roff(ret, text);
    buf_adds(ret, "\n");
}

static void man_command(buf *ret, const command *c)
{
    buf_addf(ret, ".SS tequio %s ", c->name);
    add_roff(ret, c->operands);
    buf_adds(ret, "\n");
    add_roff(ret, c->about);
    buf_adds(ret, "\n");
    for (size_t i = 0; i < c->n_flags; i++) {
        buf label = BUF_INIT;
        help_flag_label(&c->flags[i], &label);
        man_item(ret, label.data, c->flags[i].help);
        buf_fini(&label);
    }
}

static void man_config(buf *ret)
{
    buf text = BUF_INIT;
    config_help_text(&text);
    buf_adds(ret, ".SH CONFIGURATION\nCONFIG is a jsonnet file. An unknown key is an error.\n.PP\n"
                  ".nf\n");
    for (const char *line = text.data ? text.data : ""; *line;) {
        size_t bytes = strcspn(line, "\n");
        char *one = xstrndup(line, bytes);
        add_roff(ret, one);
        buf_adds(ret, "\n");
        free(one);
        line += bytes + (line[bytes] == '\n');
    }
    buf_adds(ret, ".fi\n");
    buf_fini(&text);
}

void help_man(const command_table *all, buf *ret)
{
    buf_adds(ret, ".TH TEQUIO 1 \"\" \"tequio " TEQUIO_VERSION "\" \"User Commands\"\n"
                  ".SH NAME\ntequio \\- distributed deep-learning trainer\n"
                  ".SH SYNOPSIS\n.B tequio\n.I SUBCOMMAND\n[arguments]\n"
                  ".SH DESCRIPTION\ntequio trains a neural network on one machine or on many. "
                  "A process reads its role (master, worker, parameter server or evaluator) "
                  "from TF_CONFIG. The cluster does not change the result.\n"
                  ".SH SUBCOMMANDS\n");
    for (size_t i = 0; i < all->n; i++)
        man_command(ret, all->at[i]);
    buf_adds(ret, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < COUNT_OF(environment); i++)
        man_item(ret, environment[i].name, environment[i].text);
    buf_adds(ret, ".SH EXIT STATUS\n");
    for (int code = -1; next_exit_code(&code);) {
        char name[16];
        snprintf(name, sizeof name, "%d", code);
        const char *meaning = exit_meaning(code);
        man_item(ret, name, meaning ? meaning : "Failure.");
    }
    man_config(ret);
}
