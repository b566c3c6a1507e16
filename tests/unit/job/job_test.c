/* Jobs from files: what they ask for, or what is wrong with them. The cases are data/jobs.txt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "support/job_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What became of a text, in the words of jobs.txt. */
static void outcome(const char *text, size_t bytes, buf *ret)
{
    arena *memory = arena_create();
    error err = ERROR_INIT;
    job j = {.id = NULL};
    status st = job_of_text(text, bytes, memory, &j, &err);
    if (st == OK)
        buf_addf(ret, "tasks=%" PRId64 " gpus=%" PRId64, job_tasks(&j), job_gpus(&j));
    else
        buf_adds(ret, err.text);
    assert_true(st == OK || st == E_CONFIG);
    for (int i = 0; st == OK && i < j.n_warnings; i++)
        buf_addf(ret, "\n! %s", j.warnings[i]);
    for (int i = 0; st == OK && i < j.n_environment; i++)
        buf_addf(ret, "\n! environment %s", j.environment[i]);
    arena_destroy(&memory);
}

/* Cuts the next case out of *at: its name, its text, what is expected. False behind the last. */
static bool next_case(char **at, char **ret_name, char **ret_text, char **ret_expected)
{
    char *name = strstr(*at, "\n=== ");
    if (!name)
        return false;
    char *text = strchr(name + 1, '\n') + 1, *expected = strstr(text - 1, "\n--> ");
    char *end = strstr(expected, "\n\n");
    if (!end)
        end = expected + strlen(expected) - 1;
    text[-1] = '\0';
    *expected = *end = '\0';
    *ret_name = name + strlen("\n=== ");
    *ret_text = expected < text ? expected : text; /* an empty file */
    *ret_expected = expected + strlen("\n--> ");
    *at = end + 1; /* the second '\n', with which the next case begins */
    return true;
}

static void files_are_judged(void **state)
{
    (void)state;
    buf all = BUF_INIT, got = BUF_INIT;
    assert_int_equal(fs_read(TEST_DATA_DIR "/jobs.txt", 1 << 20, &all, NULL), OK);
    char *at = all.data, *name, *text, *expected;
    int n = 0, n_wrong = 0;
    for (; next_case(&at, &name, &text, &expected); n++) {
        buf_clear(&got);
        outcome(text, strlen(text), &got);
        if (strcmp(got.data, expected) != 0) {
            print_error("%s:\n%s\nbut should be\n%s\n", name, got.data, expected);
            n_wrong++;
        }
    }
    assert_int_equal(n_wrong, 0);
    assert_true(n >= 50);
    buf_fini(&all);
    buf_fini(&got);
}

/* --- scaling down --- */

static const char ten_machines[] = "trainingInput: {scaleTier: CUSTOM, masterType: standard, "
                                   "workerType: standard, workerCount: 9, "
                                   "parameterServerType: standard, parameterServerCount: 3}";

static status scaled(const char *shape, job *ret, arena *memory, error *err)
{
    assert_int_equal(job_of_text(ten_machines, strlen(ten_machines), memory, ret, NULL), OK);
    return job_scale_down(ret, shape, err);
}

static void a_job_becomes_smaller(void **state)
{
    (void)state;
    arena *memory = arena_create();
    job j;
    assert_int_equal(scaled("1x2x1", &j, memory, NULL), OK);
    assert_int_equal(j.pools[ROLE_MASTER].count, 1);
    assert_int_equal(j.pools[ROLE_WORKER].count, 2);
    assert_int_equal(j.pools[ROLE_PS].count, 1);
    assert_int_equal(job_tasks(&j), 4);
    arena_destroy(&memory);
}

static void shapes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *shape, *text;
    } cases[] = {
        {"1x2", "--scale-down '1x2': must be MASTERxWORKERSxSERVERS, as 1x2x1, and may end with "
                "xEVALUATORS"},
        {"1x2x", "--scale-down '1x2x': must be MASTERxWORKERSxSERVERS, as 1x2x1, and may end with "
                 "xEVALUATORS"},
        {"", "--scale-down '': must be MASTERxWORKERSxSERVERS, as 1x2x1, and may end with "
             "xEVALUATORS"},
        {"1x10x1", "--scale-down '1x10x1': the job has 9 of worker; from 1 to as many may stay"},
        {"1x2x0", "--scale-down '1x2x0': the job has 3 of ps; from 1 to as many may stay"},
        {"1x2x1x1", "--scale-down '1x2x1x1': the job has 0 of evaluator; from 0 to as many may stay"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        arena *memory = arena_create();
        job j;
        error err = ERROR_INIT;
        assert_int_equal(scaled(cases[i].shape, &j, memory, &err), E_USAGE);
        assert_string_equal(err.text, cases[i].text);
        arena_destroy(&memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_judged),
        cmocka_unit_test(a_job_becomes_smaller),
        cmocka_unit_test(shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
