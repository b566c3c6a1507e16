#include "cli/run/keys.h"

#include "cli/run/meeting_place.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void keys_take_given(keys_given *ret)
{
    *ret = (keys_given){.any = false};
    char *text = getenv("TEQUIO_KEY");
    if (!text)
        return;
    ret->any = *text;
    snprintf(ret->text, sizeof ret->text, "%s", text);
    jobkey_wipe(text, strlen(text)); /* /proc shows this very memory */
    unsetenv("TEQUIO_KEY");
}

/* Evaluators are part of no connection. */
static bool is_all_loopback(const cluster *c)
{
    for (int r = 0; r < ROLE_COUNT; r++)
        for (int32_t i = 0; r != ROLE_EVALUATOR && i < c->jobs[r].n; i++)
            if (c->jobs[r].address[i] && !address_is_loopback(c->jobs[r].address[i]))
                return false;
    return true;
}

bool keys_are_needed(const config *conf, const cluster *c)
{
    const char *security = config_str(conf, "distributed.security");
    if (security)
        return strcmp(security, "curve") == 0;
    const char *place = c->origin == CLUSTER_RANKS ? meeting_place(conf, c) : NULL;
    return !is_all_loopback(c) || (place && !address_is_loopback(place));
}

/* The file that holds the key, if any is named or there; NULL. The caller frees it. */
static char *named_file(const config *conf, const char *job_dir)
{
    const char *variable = getenv("TEQUIO_KEY_FILE");
    if (variable && *variable)
        return xstrdup(variable);
    const char *option = config_str(conf, "distributed.key_file");
    if (option)
        return xstrdup(option);
    char *own = xasprintf("%s/key", job_dir);
    if (fs_exists(own))
        return own;
    free(own);
    return NULL;
}

static status fail_no_key(const config *conf, const char *job_dir, error *err)
{
    bool is_asked_for = config_has(conf, "distributed.security");
    return FAIL(
        err, E_CONFIG,
        "%s, so the tasks need a key that they share, and there is none in TEQUIO_KEY, in "
        "a file that TEQUIO_KEY_FILE or distributed.key_file names, or in '%s/key'. 'tequio "
        "keygen' makes one, for every task the same; --insecure does without if everybody "
        "on the network may be trusted",
        is_asked_for ? "distributed.security is \"curve\""
                     : "the cluster is not on the loopback interface alone",
        job_dir);
}

static status parse_given(const keys_given *given, jobkey *ret, error *err)
{
    TRYF(jobkey_parse(given->text, ret, err), err, "TEQUIO_KEY");
    return OK;
}

status keys_find(const keys_given *given, const config *conf, const char *job_dir, jobkey *ret,
                 error *err)
{
    if (given->any)
        return parse_given(given, ret, err);
    char *path = named_file(conf, job_dir);
    status st = path ? jobkey_read(path, ret, err) : fail_no_key(conf, job_dir, err);
    free(path);
    return st;
}

/* Leaves a file that holds this key already as it is. */
static status put_key(const char *path, const jobkey *k, error *err)
{
    jobkey old;
    bool same = fs_exists(path) && jobkey_read(path, &old, NULL) == OK && jobkey_equal(&old, k);
    jobkey_wipe(&old, sizeof old);
    if (same)
        return OK;
    if (unlink(path) && errno != ENOENT)
        return FAIL(err, E_IO, "remove '%s': %s", path, strerror(errno));
    return jobkey_write(path, k, err);
}

status keys_choose(const keys_given *given, const config *conf, const char *job_dir, jobkey *ret,
                   error *err)
{
    if (given->any)
        return parse_given(given, ret, err);
    char *path = named_file(conf, job_dir);
    status st = path ? jobkey_read(path, ret, err) : jobkey_make(ret, err);
    free(path);
    return st;
}

status keys_find_file(const keys_given *given, const config *conf, const char *job_dir, char **ret,
                      error *err)
{
    jobkey k;
    char *path = given->any ? NULL : named_file(conf, job_dir);
    status st = keys_choose(given, conf, job_dir, &k, err); /* now rather than in every task */
    if (!path) {
        path = xasprintf("%s/key", job_dir);
        if (st == OK)
            st = put_key(path, &k, err);
    }
    jobkey_wipe(&k, sizeof k);
    if (st == OK)
        *ret = path;
    else
        free(path);
    return st;
}
