#include "cli/help.h"

#include "cli/cli.h"
#include "cli/commands.h"
#include "common/base/alloc.h"
#include "common/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_WIDTH = 100, HELP_COLUMN = 32 };

typedef struct fact {
    const char *name, *text;
} fact;

static const fact environment[] = {
    {"TF_CONFIG",
     "Cluster and task of this process, as TensorFlow, Kubeflow, AI Platform and Vertex "
     "AI set it; train then plays that task. CLUSTER_SPEC and the variables of Slurm "
     "and SageMaker are read where it is not set."},
    {"TEQUIO_SET", "Settings \"dotted.key=json\", one a line; between the file and --overrides."},
    {"TEQUIO_LOG_LEVEL", "error, warn, info (default) or debug."},
    {"OMP_WAIT_POLICY", "passive unless set: threads that wait leave the cores to other tasks."},
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

/* `text` in lines of at most HELP_WIDTH columns, each after `indent` spaces; the first line goes on
 * at column `at`. */
static void add_wrapped(buf *ret, const char *text, int indent, int at)
{
    bool first = true;
    while (*text) {
        int bytes = (int)strcspn(text, " \n");
        if (!first && at + 1 + bytes > HELP_WIDTH) {
            buf_addf(ret, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            buf_adds(ret, " ");
            at++;
        }
        buf_add(ret, text, (size_t)bytes);
        at += bytes;
        first = false;
        text += bytes;
        if (text[0] == '\n' && text[1] == '\n') {
            buf_addf(ret, "\n\n%*s", indent, "");
            at = indent;
            first = true;
        }
        text += strspn(text, " \n");
    }
    buf_adds(ret, "\n");
}

static void add_row(buf *ret, const char *name, const char *text)
{
    int at = (int)strlen(name) + 2;
    buf_addf(ret, "  %s", name);
    if (at + 2 > HELP_COLUMN) {
        buf_adds(ret, "\n");
        at = 0;
    }
    buf_addf(ret, "%*s", HELP_COLUMN - at, "");
    add_wrapped(ret, text, HELP_COLUMN, HELP_COLUMN);
}

static void flag_label(const flag *f, buf *ret)
{
    if (f->letter)
        buf_addf(ret, "-%c, ", f->letter);
    buf_addf(ret, "--%s%s%s", f->name, f->value ? " " : "", f->value ? f->value : "");
}

void help_overview(buf *ret)
{
    buf_adds(ret, "tequio trains a neural network on one machine or on many; the cluster does not "
                  "change\nthe result.\n\nusage: tequio SUBCOMMAND [arguments]\n\n");
    size_t n;
    const command *const *commands = cli_commands(&n);
    for (size_t i = 0; i < n; i++)
        add_row(ret, commands[i]->name, commands[i]->summary);
    buf_adds(ret, "\n'tequio SUBCOMMAND --help' tells more, 'tequio train --help-config' explains "
                  "every key of a\nconfiguration, 'tequio help --man | man -l -' is the manual.\n");
}

void help_command(const command *c, buf *ret)
{
    buf_addf(ret, "usage: tequio %s %s%s[options]\n\n", c->name, c->operands,
             *c->operands ? " " : "");
    add_wrapped(ret, c->about, 0, 0);
    const char *group = "";
    for (size_t i = 0; i < c->n_flags; i++) {
        const flag *f = &c->flags[i];
        if (strcmp(group, f->group) != 0)
            buf_addf(ret, "\n%s:\n", f->group);
        group = f->group;
        buf label = BUF_INIT;
        flag_label(f, &label);
        add_row(ret, label.data, f->help);
        buf_fini(&label);
    }
    if (c->n_flags == 0)
        buf_adds(ret, "\n");
    add_row(ret, "-h, --help", "This text.");
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
        flag_label(&c->flags[i], &label);
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

void help_man(buf *ret)
{
    buf_adds(ret, ".TH TEQUIO 1 \"\" \"tequio " TEQUIO_VERSION "\" \"User Commands\"\n"
                  ".SH NAME\ntequio \\- distributed deep-learning trainer\n"
                  ".SH SYNOPSIS\n.B tequio\n.I SUBCOMMAND\n[arguments]\n"
                  ".SH DESCRIPTION\ntequio trains a neural network on one machine or on many. "
                  "Which part a process plays (master, worker, parameter server, evaluator) it "
                  "reads from TF_CONFIG. The cluster does not change the result.\n"
                  ".SH SUBCOMMANDS\n");
    size_t n;
    const command *const *commands = cli_commands(&n);
    for (size_t i = 0; i < n; i++)
        man_command(ret, commands[i]);
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

static void bash_command(buf *ret, const command *c)
{
    buf_addf(ret, "    %s)\n        case \"$last\" in\n", c->name);
    for (size_t i = 0; i < c->n_flags; i++) {
        const flag *f = &c->flags[i];
        if (f->kind == FLAG_SWITCH || f->kind == FLAG_PATH)
            continue;
        buf_addf(ret, "        --%s", f->name);
        if (f->letter)
            buf_addf(ret, "|-%c", f->letter);
        buf_adds(ret, ") COMPREPLY=(");
        if (f->kind == FLAG_CHOICE) {
            buf_adds(ret, "$(compgen -W \"");
            for (const char *at = f->value; *at; at++)
                buf_add(ret, *at == '|' ? " " : at, 1);
            buf_adds(ret, "\" -- \"$word\")");
        }
        buf_adds(ret, "); return ;;\n");
    }
    buf_adds(ret, "        esac\n        flags=\"--help");
    for (size_t i = 0; i < c->n_flags; i++)
        buf_addf(ret, " --%s", c->flags[i].name);
    buf_adds(ret, "\" ;;\n");
}

void help_bash(buf *ret)
{
    size_t n;
    const command *const *commands = cli_commands(&n);
    buf_adds(ret,
             "# bash completion for tequio; load with: source <(tequio help --bash)\n"
             "_tequio() {\n"
             "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} flags=\n"
             "    COMPREPLY=()\n"
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
             "        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; i < n; i++)
        buf_addf(ret, "%s%s", i ? " " : "", commands[i]->name);
    buf_adds(ret, "\" -- \"$word\"))\n        return\n    fi\n"
                  "    case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; i < n; i++)
        bash_command(ret, commands[i]);
    buf_adds(ret, "    esac\n"
                  "    case \"$word\" in\n"
                  "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")) ;;\n"
                  "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
                  "    esac\n"
                  "}\n"
                  "complete -o filenames -F _tequio tequio\n");
}

static int print_and_free(buf *text)
{
    fputs(text->data, stdout);
    buf_fini(text);
    return 0;
}

int help_print_command(const command *c)
{
    buf text = BUF_INIT;
    help_command(c, &text);
    return print_and_free(&text);
}

static const flag help_flags[] = {
    {"man", 0, FLAG_SWITCH, NULL, "Other forms", "The manual page tequio(1), in roff.", 0, 0},
    {"bash", 0, FLAG_SWITCH, NULL, "Other forms", "Completion for bash.", 0, 0},
};

static int run_help(const args *a, error *err)
{
    buf text = BUF_INIT;
    if (a->n_operands > 0) {
        const command *c = cli_command_of(a->operands[0]);
        if (!c)
            return status_exit_code(FAIL(err, E_USAGE,
                                         "help: there is no subcommand '%s'; 'tequio "
                                         "--help' lists them",
                                         a->operands[0]));
        return help_print_command(c);
    }
    if (args_has(a, "man"))
        help_man(&text);
    else if (args_has(a, "bash"))
        help_bash(&text);
    else
        help_overview(&text);
    return print_and_free(&text);
}

const command command_help = {
    .name = "help",
    .operands = "[SUBCOMMAND]",
    .max_operands = 1,
    .summary = "Explain a subcommand; manual page and completion.",
    .about = "Explains a subcommand, or writes the manual page or the completion of all of them.",
    .flags = help_flags,
    .n_flags = COUNT_OF(help_flags),
    .run = run_help,
};
