/* `tequio keygen`: a new key for a job. */
#include "cli/commands.h"
#include "common/base/alloc.h"
#include "common/base/jobkey.h"

#include <stdio.h>
#include <string.h>

static status give(const args *a, const jobkey *k, error *err)
{
    if (args_has(a, "output"))
        return jobkey_write(args_text(a, "output"), k, err);
    char text[JOBKEY_TEXT];
    jobkey_text(k, text);
    puts(text);
    jobkey_wipe(text, sizeof text);
    return OK;
}

/* What is shown to pages and to metrics, where the key itself must not be. */
static status tell_token(const args *a, const jobkey *k, error *err)
{
    char text[JOBKEY_TEXT];
    if (args_has(a, "output"))
        return FAIL(err, E_USAGE, "keygen: --token is printed, and --output is for keys");
    jobkey_derive_token(k, strcmp(args_text(a, "token"), "page") == 0 ? JOBKEY_PAGE : JOBKEY_METRICS, text);
    puts(text);
    jobkey_wipe(text, sizeof text);
    return OK;
}

static int run_keygen(const args *a, error *err)
{
    jobkey k;
    const char *of = args_text(a, "of");
    bool is_token = args_has(a, "token");
    status st = is_token == !of ? FAIL(err, E_USAGE, "keygen: --token and --of need each other")
                : of            ? jobkey_read(of, &k, err)
                                : jobkey_make(&k, err);
    if (st == OK)
        st = is_token ? tell_token(a, &k, err) : give(a, &k, err);
    jobkey_wipe(&k, sizeof k);
    return status_exit_code(st);
}

static const flag keygen_flags[] = {
    {"output", 'o', FLAG_PATH, "FILE", "Where to write",
     "A new file that only its owner may read, instead of standard output.", 0, 0},
    {"token", 0, FLAG_CHOICE, "page|metrics", "A token instead of a key",
     "Print the token that lets somebody see a page of the job, or a task's metrics; it tells nothing of the key.",
     0, 0},
    {"of", 0, FLAG_PATH, "KEY_FILE", "A token instead of a key", "The job's key, as JOB_DIR/key.", 0, 0},
};

const command command_keygen = {
    .name = "keygen",
    .operands = "",
    .summary = "Make a key for the connections of a cluster.",
    .about =
        "Makes a random key. The tasks of a cluster that are given the same key encrypt their "
        "connections and let nobody else in.\n\n"
        "A task looks for its key in TEQUIO_KEY (the key itself), in the file that "
        "TEQUIO_KEY_FILE names, in the file that distributed.key_file of the configuration "
        "names, and in JOB_DIR/key, in this order. A file that others than its owner may read is "
        "refused. Whoever has the key is a member of the job: a new key for every job keeps jobs "
        "apart.",
    .flags = keygen_flags,
    .n_flags = COUNT_OF(keygen_flags),
    .run = run_keygen,
};
