/* `tequio help`: what the subcommands are, in every form (cli/line/help.h). */
#include "cli/commands.h"
#include "cli/line/help.h"
#include "common/base/alloc.h"
#include "common/config/allennlp.h"
#include "common/config/config.h"

#include <stdio.h>

static const flag help_flags[] = {
    {"man", 0, FLAG_SWITCH, NULL, "Other forms", "The manual page tequio(1), in roff.", 0, 0},
    {"bash", 0, FLAG_SWITCH, NULL, "Other forms", "Completion for bash.", 0, 0},
    {"options", 0, FLAG_SWITCH, NULL, "Other forms",
     "Every key of a configuration, in Markdown: docs/options.md.", 0, 0},
    {"allennlp", 0, FLAG_SWITCH, NULL, "Other forms",
     "What becomes of AllenNLP's keys, in Markdown: docs/allennlp-keys.md.", 0, 0},
};

static int run_help(const args *a, error *err)
{
    buf text = BUF_INIT;
    if (a->n_operands > 0) {
        const command *c = command_find(a->program, a->operands[0]);
        if (!c)
            return status_exit_code(FAIL(err, E_USAGE,
                                         "help: there is no subcommand '%s'; 'tequio "
                                         "--help' lists them",
                                         a->operands[0]));
        return help_print_command(c);
    }
    if (args_has(a, "man"))
        help_man(a->program, &text);
    else if (args_has(a, "bash"))
        help_bash(a->program, &text);
    else if (args_has(a, "options"))
        config_help_markdown(&text);
    else if (args_has(a, "allennlp"))
        allennlp_markdown(&text);
    else
        help_overview(a->program, &text);
    fputs(text.data, stdout);
    buf_fini(&text);
    return 0;
}

const command command_help = {
    .name = "help",
    .operands = "[SUBCOMMAND]",
    .max_operands = 1,
    .summary = "Explain a subcommand; manual page and completion.",
    .about =
        "Explains a subcommand, or writes the manual page or the completion of all of them, or the "
        "keys of a configuration.",
    .flags = help_flags,
    .n_flags = COUNT_OF(help_flags),
    .run = run_help,
};
