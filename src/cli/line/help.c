#include "cli/line/help.h"

#include <stdio.h>
#include <string.h>

enum { HELP_WIDTH = 100, HELP_COLUMN = 32 };

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

void help_flag_label(const flag *f, buf *ret)
{
    if (f->letter)
        buf_addf(ret, "-%c, ", f->letter);
    const char *form = !f->value ? "--%s" : f->kind == FLAG_OPTION ? "--%s[=%s]" : "--%s %s";
    buf_addf(ret, form, f->name, f->value);
}

void help_overview(const command_table *all, buf *ret)
{
    buf_adds(ret, "tequio trains a neural network on one machine or on many; the cluster does not "
                  "change\nthe result.\n\nusage: tequio SUBCOMMAND [arguments]\n\n");
    for (size_t i = 0; i < all->n; i++)
        add_row(ret, all->at[i]->name, all->at[i]->summary);
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
        help_flag_label(f, &label);
        add_row(ret, label.data, f->help);
        buf_fini(&label);
    }
    if (c->n_flags == 0)
        buf_adds(ret, "\n");
    add_row(ret, "-h, --help", "This text.");
}

int help_print_command(const command *c)
{
    buf text = BUF_INIT;
    help_command(c, &text);
    fputs(text.data, stdout);
    buf_fini(&text);
    return 0;
}
