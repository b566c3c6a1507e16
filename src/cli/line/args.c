#include "cli/line/command.h"

#include "common/base/alloc.h"
#include "common/base/enum_name.h"
#include "common/config/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char given[] = ""; /* the value of a switch that is on, and of an option without its own */

static status unknown_flag(const command *c, const char *word, error *err)
{
    const char *names[COMMAND_FLAGS];
    for (size_t i = 0; i < c->n_flags; i++)
        names[i] = c->flags[i].name;
    const char *near = config_did_you_mean(word, names, c->n_flags);
    if (!near && c->near_key)
        near = c->near_key(word);
    if (near)
        return FAIL(err, E_USAGE, "%s: unknown flag --%s; did you mean --%s?", c->name, word, near);
    return FAIL(err, E_USAGE, "%s: unknown flag --%s; 'tequio %s --help' lists them", c->name, word,
                c->name);
}

static const flag *find_long(const command *c, const char *name, size_t bytes)
{
    for (size_t i = 0; i < c->n_flags; i++)
        if (strlen(c->flags[i].name) == bytes && memcmp(c->flags[i].name, name, bytes) == 0)
            return &c->flags[i];
    return NULL;
}

static const flag *find_short(const command *c, char letter)
{
    for (size_t i = 0; i < c->n_flags; i++)
        if (letter && c->flags[i].letter == letter)
            return &c->flags[i];
    return NULL;
}

static bool is_one_of(const char *choices, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *at = choices; *at;) {
        size_t n = strcspn(at, "|");
        if (n == bytes && memcmp(at, word, n) == 0)
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

static bool parse_count(const char *text, int64_t *ret)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return false;
    *ret = value;
    return true;
}

static bool is_choice(const flag *f, const char *value)
{
    size_t bytes;
    return f->kind == FLAG_ENUM ? enum_name_find(f->value, '|', value, &bytes) != NULL
                                : is_one_of(f->value, value);
}

static status check_value(const command *c, const flag *f, const char *value, error *err)
{
    if ((f->kind == FLAG_CHOICE || f->kind == FLAG_ENUM) && !is_choice(f, value))
        return FAIL(err, E_USAGE, "%s: --%s '%s': must be one of %s", c->name, f->name, value,
                    f->value);
    if ((f->kind == FLAG_TEXT || f->kind == FLAG_PATH) && !*value)
        return FAIL(err, E_USAGE, "%s: --%s is empty; it takes %s", c->name, f->name, f->value);
    int64_t n;
    if (f->kind == FLAG_COUNT && (!parse_count(value, &n) || n < f->min || n > f->max))
        return FAIL(err, E_USAGE,
                    "%s: --%s '%s': must be a whole number from %" PRId64 " to %" PRId64, c->name,
                    f->name, value, f->min, f->max);
    return OK;
}

/* `value` is what stands in the same word ("--flag=value", "-fvalue"), or NULL. */
static status take_flag(args *a, const flag *f, const char *value, int argc, char *const *argv,
                        int *at, error *err)
{
    const command *c = a->command;
    const char **place = &a->values[f - c->flags];
    if (f->kind == FLAG_OPTION) {
        *place = value ? value : given;
        return OK;
    }
    if (*place)
        return FAIL(err, E_USAGE, "%s: --%s is given twice", c->name, f->name);
    if (f->kind == FLAG_SWITCH) {
        if (value)
            return FAIL(err, E_USAGE, "%s: --%s takes no value", c->name, f->name);
        *place = given;
        return OK;
    }
    if (!value) {
        if (*at + 1 >= argc)
            return FAIL(err, E_USAGE, "%s: --%s needs a value: %s", c->name, f->name, f->value);
        value = argv[++*at];
    }
    TRY(check_value(c, f, value, err));
    *place = value;
    return OK;
}

/* --KEY VALUE, --KEY=VALUE; *ret_taken is false if the flag sets no key of the configuration. */
static status take_setting(args *a, int argc, char *const *argv, int *at, bool *ret_taken, error *err)
{
    const command *c = a->command;
    const char *word = argv[*at] + 2;
    size_t bytes = strcspn(word, "=");
    char *name = xstrndup(word, bytes);
    const char *key = c->key_of ? c->key_of(name) : NULL;
    *ret_taken = key;
    args_setting s = {.key = key == name ? word : key, .bytes = key == name ? (int)bytes : key ? (int)strlen(key) : 0};
    free(name);
    if (!key)
        return OK;
    if (!word[bytes] && *at + 1 >= argc)
        return FAIL(err, E_USAGE, "%s: --%s needs a value: of %.*s", c->name, word, s.bytes, s.key);
    if (a->n_settings == COMMAND_SETTINGS)
        return FAIL(err, E_USAGE, "%s: more than %d keys of the configuration; --overrides takes any number", c->name,
                    COMMAND_SETTINGS);
    s.value = word[bytes] ? word + bytes + 1 : argv[++*at];
    a->settings[a->n_settings++] = s;
    return OK;
}

static status take_long(args *a, int argc, char *const *argv, int *at, error *err)
{
    const char *word = argv[*at] + 2;
    size_t bytes = strcspn(word, "=");
    if (bytes == 4 && strncmp(word, "help", 4) == 0) {
        a->help = true;
        return OK;
    }
    const flag *f = find_long(a->command, word, bytes);
    bool is_taken = false;
    if (!f)
        TRY(take_setting(a, argc, argv, at, &is_taken, err));
    if (is_taken)
        return OK;
    if (!f) {
        char *name = xstrndup(word, bytes);
        status st = unknown_flag(a->command, name, err);
        free(name);
        return st;
    }
    return take_flag(a, f, word[bytes] ? word + bytes + 1 : NULL, argc, argv, at, err);
}

/* "-rf" is "-r -f"; "-sDIR" is "-s DIR". */
static status take_short(args *a, int argc, char *const *argv, int *at, error *err)
{
    for (const char *c = argv[*at] + 1; *c; c++) {
        if (*c == 'h') {
            a->help = true;
            return OK;
        }
        const flag *f = find_short(a->command, *c);
        if (!f)
            return FAIL(err, E_USAGE, "%s: unknown flag -%c; 'tequio %s --help' lists them",
                        a->command->name, *c, a->command->name);
        if (f->kind != FLAG_SWITCH && f->kind != FLAG_OPTION)
            return take_flag(a, f, c[1] ? c + 1 : NULL, argc, argv, at, err);
        TRY(take_flag(a, f, NULL, argc, argv, at, err));
    }
    return OK;
}

static status take_operand(args *a, const char *word, error *err)
{
    const command *c = a->command;
    if (a->n_operands == c->max_operands)
        return FAIL(err, E_USAGE, "%s: '%s' is one argument too many; usage: tequio %s %s", c->name,
                    word, c->name, c->operands);
    a->operands[a->n_operands++] = word;
    return OK;
}

const command *command_find(const command_table *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->at[i]->name, name) == 0)
            return all->at[i];
    return NULL;
}

status args_parse(const command *c, int argc, char *const *argv, args *ret, error *err)
{
    BUG_ON(c->n_flags > COMMAND_FLAGS || c->max_operands > COMMAND_OPERANDS);
    static char *const nothing[] = {NULL};
    args a = {.command = c, .rest = nothing};
    bool flags_end = false;
    for (int at = 0; at < argc && !a.help; at++) {
        const char *word = argv[at];
        if (flags_end || word[0] != '-' || !word[1])
            TRY(take_operand(&a, word, err));
        else if (strcmp(word, "--") == 0 && c->takes_rest) {
            a.rest = argv + at + 1;
            break;
        } else if (strcmp(word, "--") == 0)
            flags_end = true;
        else if (word[1] == '-')
            TRY(take_long(&a, argc, argv, &at, err));
        else
            TRY(take_short(&a, argc, argv, &at, err));
    }
    if (!a.help && a.n_operands < c->min_operands)
        return FAIL(err, E_USAGE, "%s: %s is missing; usage: tequio %s %s", c->name, c->operands,
                    c->name, c->operands);
    *ret = a;
    return OK;
}

static const char *value_of(const args *a, const char *name)
{
    const flag *f = find_long(a->command, name, strlen(name));
    if (!f)
        BUG("%s has no flag --%s", a->command->name, name);
    return a->values[f - a->command->flags];
}

bool args_has(const args *a, const char *name)
{
    return value_of(a, name) != NULL;
}

const char *args_text(const args *a, const char *name)
{
    return value_of(a, name);
}

int64_t args_count(const args *a, const char *name, int64_t if_absent)
{
    const char *text = value_of(a, name);
    int64_t n = if_absent;
    if (text && !parse_count(text, &n))
        BUG("--%s was not checked", name);
    return n;
}
