/*
 * A subcommand: its name, what it takes, and one table of flags. The table parses the command line
 * and writes --help, the man page and the completion, so that these cannot drift apart.
 *
 * Ownership: commands and flags are constants; args borrow from argv. Main thread only.
 */
#ifndef TEQUIO_CLI_LINE_COMMAND_H
#define TEQUIO_CLI_LINE_COMMAND_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMMAND_FLAGS = 64, COMMAND_OPERANDS = 16, COMMAND_SETTINGS = 128 };

typedef enum flag_kind {
    FLAG_SWITCH, /* takes no value */
    FLAG_OPTION, /* a switch that may have one in its own word, --flag=value; the last one counts */
    FLAG_TEXT,
    FLAG_TEXT_OR_EMPTY,
    FLAG_COUNT,  /* an integer in [min, max] */
    FLAG_CHOICE, /* one of the words in `value`, separated by '|' */
    FLAG_ENUM,   /* likewise, in any spelling (common/base/enum_name.h) */
    FLAG_PATH,   /* text that completion takes for a file */
} flag_kind;

typedef struct flag {
    const char *name; /* long, without dashes */
    char letter;      /* short, or 0 */
    flag_kind kind;
    const char *value; /* what help calls the value; NULL for a switch */
    const char *group; /* heading in help; rows of one group stand together */
    const char *help;
    int64_t min, max;
} flag;

typedef struct args args;

typedef struct command {
    const char *name;
    const char *operands; /* as in a usage line: "CONFIG" */
    int min_operands, max_operands;
    const char *summary; /* one line */
    const char *about;   /* paragraphs, separated by an empty line */
    const flag *flags;
    size_t n_flags;
    /* The key of the configuration that a flag of no row sets, which is `name` or a constant; NULL: it sets none.
     * NULL where only flags of the table are taken. */
    const char *(*key_of)(const char *name);
    const char *(*near_key)(const char *name); /* the nearest name that does; NULL: none is near */
    bool takes_rest;        /* what stands behind `--` is none of ours: args.rest */
    bool needs_passive_waits; /* it computes: see cli.c */
    /* Returns the exit code; whatever `err` holds then is printed. */
    int (*run)(const args *a, error *err);
} command;

typedef struct command_table {
    const command *const *at;
    size_t n;
} command_table;

/* --KEY VALUE */
typedef struct args_setting {
    const char *key; /* [bytes] */
    int bytes;
    const char *value;
} args_setting;

struct args {
    const command *command;
    const command_table *program; /* the subcommand and all others; NULL: not run by the program */
    const char *operands[COMMAND_OPERANDS];
    int n_operands;
    const char *values[COMMAND_FLAGS]; /* by place in the table; NULL where not given */
    args_setting settings[COMMAND_SETTINGS]; /* [n_settings], in their order: of a command with key_of */
    int n_settings;
    char *const *rest;                 /* with takes_rest: NULL at the end, never NULL itself */
    bool help;                         /* --help was given; nothing else counts then */
};

/* NULL if there is none of that name. */
const command *command_find(const command_table *all, const char *name);

/* argv[0..argc) follows the name of the subcommand. E_USAGE. */
MUST_USE status args_parse(const command *c, int argc, char *const *argv, args *ret, error *err);

/* `name` must be in the command's table. */
bool args_has(const args *a, const char *name);
const char *args_text(const args *a, const char *name); /* NULL: not given */
int64_t args_count(const args *a, const char *name, int64_t if_absent);

#endif
