/* Flags: what is taken, what is refused and with which words; help from the same table. */
#include "cli/commands.h"
#include "cli/line/help.h"
#include "common/base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static const flag flags[] = {
    {"dir", 's', FLAG_PATH, "DIR", "First", "Where to.", 0, 0},
    {"force", 'f', FLAG_SWITCH, NULL, "First", "Remove it.", 0, 0},
    {"recover", 'r', FLAG_OPTION, "step-N", "First", "Go on.", 0, 0},
    {"workers", 0, FLAG_COUNT, "N", "Second", "How many.", 0, 4096},
    {"progress", 0, FLAG_CHOICE, "auto|bar", "Second", "What to show.", 0, 0},
    {"tier", 0, FLAG_ENUM, "basic|basic-gpu", "Second", "Which.", 0, 0},
};

static const command toy = {.name = "toy",
                            .operands = "CONFIG",
                            .min_operands = 1,
                            .max_operands = 1,
                            .summary = "A toy.",
                            .about = "It is a toy.\n\nFor tests.",
                            .flags = flags,
                            .n_flags = COUNT_OF(flags)};

/* Words separated by blanks, to args. */
static status parse(const char *line, args *ret, error *err)
{
    static char text[256];
    static char *words[32];
    int n = 0;
    strcpy(text, line);
    for (char *rest = text, *word; (word = strsep(&rest, " "));)
        if (*word)
            words[n++] = word;
    return args_parse(&toy, n, words, ret, err);
}

static void every_way_to_write_a_flag(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "c -s d -f --workers 3",
        "-fs d c --workers=3",
        "--dir=d c --force --workers 3",
        "--workers 3 -sd -f -- c",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        args a;
        assert_int_equal(parse(lines[i], &a, NULL), OK);
        assert_string_equal(a.operands[0], "c");
        assert_string_equal(args_text(&a, "dir"), "d");
        assert_true(args_has(&a, "force"));
        assert_false(args_has(&a, "recover"));
        assert_int_equal(args_count(&a, "workers", 7), 3);
        assert_null(args_text(&a, "progress"));
    }
}

/* Whoever starts a command again puts the option behind what was given. */
static void an_option_may_have_a_value_and_the_last_one_counts(void **state)
{
    (void)state;
    static const char *const lines[][2] = {
        {"c --recover", ""},
        {"-fr c", ""},
        {"--recover=step-5 c", "step-5"},
        {"c --recover=step-5 --recover", ""},
        {"c -r --recover=step-7", "step-7"},
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        args a;
        assert_int_equal(parse(lines[i][0], &a, NULL), OK);
        assert_string_equal(a.operands[0], "c");
        assert_string_equal(args_text(&a, "recover"), lines[i][1]);
    }
}

static const char *toy_key(const char *name)
{
    return strcmp(name, "rate") == 0 ? "trainer.optimizer.lr" : strchr(name, '.') ? name : NULL;
}

/* Flags of no row may be keys of a configuration. */
static void keys_are_flags_where_a_command_takes_them(void **state)
{
    (void)state;
    static const char *const words[] = {"c",          "--rate", "-0.5", "--workers=3", "--model.hidden=[1]",
                                        "--data.path", "--x=y"};
    static const struct {
        const char *key, *value;
    } wanted[] = {{"trainer.optimizer.lr", "-0.5"}, {"model.hidden", "[1]"}, {"data.path", "--x=y"}};
    command taking = toy;
    error err = ERROR_INIT;
    args a;
    taking.key_of = toy_key;
    assert_int_equal(args_parse(&taking, COUNT_OF(words), (char *const *)(uintptr_t)words, &a, NULL), OK);
    assert_int_equal(args_count(&a, "workers", 0), 3);
    assert_int_equal(a.n_settings, COUNT_OF(wanted));
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        assert_int_equal(a.settings[i].bytes, strlen(wanted[i].key));
        assert_memory_equal(a.settings[i].key, wanted[i].key, strlen(wanted[i].key));
        assert_string_equal(a.settings[i].value, wanted[i].value);
    }
    assert_int_equal(args_parse(&taking, 2, (char *const *)(uintptr_t)words, &a, &err), E_USAGE);
    assert_string_equal(err.text, "toy: --rate needs a value: of trainer.optimizer.lr");
    assert_int_equal(parse("c --rate 1", &a, NULL), E_USAGE);
}

static void absent_count_is_the_callers(void **state)
{
    (void)state;
    args a;
    assert_int_equal(parse("c", &a, NULL), OK);
    assert_int_equal(args_count(&a, "workers", 7), 7);
}

static void help_wins_over_what_is_missing(void **state)
{
    (void)state;
    args a;
    assert_int_equal(parse("--help", &a, NULL), OK);
    assert_true(a.help);
    assert_int_equal(parse("-fh", &a, NULL), OK);
    assert_true(a.help);
}

static void every_refusal_says_what_is_right(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"", "toy: CONFIG is missing; usage: tequio toy CONFIG"},
        {"c d", "toy: 'd' is one argument too many; usage: tequio toy CONFIG"},
        {"c --workrs 2", "toy: unknown flag --workrs; did you mean --workers?"},
        {"c --nonsense=2", "toy: unknown flag --nonsense; 'tequio toy --help' lists them"},
        {"c -x", "toy: unknown flag -x; 'tequio toy --help' lists them"},
        {"c --dir", "toy: --dir needs a value: DIR"},
        {"c --dir=", "toy: --dir is empty; it takes DIR"},
        {"c --force=yes", "toy: --force takes no value"},
        {"c -f --force", "toy: --force is given twice"},
        {"c --workers many", "toy: --workers 'many': must be a whole number from 0 to 4096"},
        {"c --workers 4097", "toy: --workers '4097': must be a whole number from 0 to 4096"},
        {"c --workers 99999999999999999999",
         "toy: --workers '99999999999999999999': must be a whole number from 0 to 4096"},
        {"c --progress ba", "toy: --progress 'ba': must be one of auto|bar"},
        {"c --progress BAR", "toy: --progress 'BAR': must be one of auto|bar"},
        {"c --tier basic-", "toy: --tier 'basic-': must be one of basic|basic-gpu"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        args a;
        error err = ERROR_INIT;
        assert_int_equal(parse(cases[i].line, &a, &err), E_USAGE);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void help_lists_every_flag_in_its_group(void **state)
{
    (void)state;
    buf text = BUF_INIT;
    help_command(&toy, &text);
    assert_string_equal(text.data, "usage: tequio toy CONFIG [options]\n"
                                   "\n"
                                   "It is a toy.\n"
                                   "\n"
                                   "For tests.\n"
                                   "\n"
                                   "First:\n"
                                   "  -s, --dir DIR                 Where to.\n"
                                   "  -f, --force                   Remove it.\n"
                                   "  -r, --recover[=step-N]        Go on.\n"
                                   "\n"
                                   "Second:\n"
                                   "  --workers N                   How many.\n"
                                   "  --progress auto|bar           What to show.\n"
                                   "  --tier basic|basic-gpu        Which.\n"
                                   "  -h, --help                    This text.\n");
    buf_fini(&text);
}

static void manual_and_completion_know_train(void **state)
{
    (void)state;
    buf man = BUF_INIT, bash = BUF_INIT;
    help_man(&commands, &man);
    help_bash(&commands, &bash);
    assert_non_null(strstr(man.data, ".SS tequio train CONFIG\n"));
    assert_non_null(strstr(man.data, ".B \\-\\-start\\-port PORT\n"));
    assert_non_null(strstr(man.data, ".B 143\n"));
    assert_non_null(strstr(man.data, "trainer.batches_per_step"));
    assert_non_null(strstr(bash.data, "--serialization-dir"));
    assert_non_null(strstr(bash.data, "auto bar plain none"));
    buf_fini(&man);
    buf_fini(&bash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_write_a_flag),
        cmocka_unit_test(an_option_may_have_a_value_and_the_last_one_counts),
        cmocka_unit_test(keys_are_flags_where_a_command_takes_them),
        cmocka_unit_test(absent_count_is_the_callers),
        cmocka_unit_test(help_wins_over_what_is_missing),
        cmocka_unit_test(every_refusal_says_what_is_right),
        cmocka_unit_test(help_lists_every_flag_in_its_group),
        cmocka_unit_test(manual_and_completion_know_train),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
