#include "common/store/jobend.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/store/checkpoint.h"
#include "common/store/jobstate.h"

#include <stdlib.h>
#include <string.h>

static bool has_job(const char *job_dir)
{
    char *path = xasprintf("%s/job.json", job_dir);
    bool is_there = fs_exists(path);
    free(path);
    return is_there;
}

bool jobend_sees(const char *job_dir, const char *token)
{
    jobdir *d = NULL;
    if (!job_dir || !has_job(job_dir) || jobdir_open(job_dir, &d, NULL) != OK)
        return false;
    const char *found = jobdir_token(d);
    bool sees = found && found[0] && strcmp(found, token) == 0;
    jobdir_close(&d);
    return sees;
}

static bool is_ours(const jobend_seeker *who, const jobdir *d)
{
    return who->job_id ? jobdir_job_id(d) == who->job_id
                       : jobdir_check_config(d, who->config, NULL) == OK &&
                             !jobdir_can_move_end(d, who->config);
}

static bool is_done(const jobdir *d)
{
    bool done = false;
    return jobdir_is_done(d, &done, NULL) == OK && done;
}

/* How that start ended, if it did not succeed. */
static status look_at_state(const jobend_seeker *who, const jobdir *d, bool *ret_is_over, error *err)
{
    jobstate state;
    if (!who->job_id || jobstate_read(d, &state, NULL) != OK)
        return OK;
    bool has_failed = state.kind == JOBSTATE_FAILED || state.kind == JOBSTATE_PREEMPTED;
    status st = OK;
    if (has_failed && state.start == who->start) {
        *ret_is_over = true;
        st = FAIL(err, jobstate_outcome(&state), "the job has ended: %s", state.text);
    }
    jobstate_fini(&state);
    return st;
}

status jobend_look(const jobend_seeker *who, bool *ret_is_over, error *err)
{
    jobdir *d = NULL;
    *ret_is_over = false;
    if (!who->job_dir || !has_job(who->job_dir) || jobdir_open(who->job_dir, &d, NULL) != OK)
        return OK;
    status st = OK;
    if (is_ours(who, d)) {
        *ret_is_over = is_done(d);
        if (*ret_is_over)
            LOG_I("OVER", "the job in '%s' is done, and its master gone", who->job_dir);
        else
            st = look_at_state(who, d, ret_is_over, err);
    }
    jobdir_close(&d);
    return st;
}

static status note_done(const jobdir *d, error *err)
{
    jobstate last;
    TRY(jobstate_read(d, &last, err));
    bool is_told = last.kind == JOBSTATE_DONE;
    jobstate_fini(&last);
    return is_told ? OK : jobstate_end(d, OK, "", err);
}

bool jobend_complete(jobdir *d)
{
    static const checkpoint_pruning all = {.era = UINT32_MAX, .committed = INT64_MAX};
    error why = ERROR_INIT;
    if (!is_done(d) || !jobdir_try_lock(d))
        return false;
    jobdir_tidy(d);
    checkpoint_sweep_pins(d);
    if (note_done(d, &why) != OK || checkpoint_prune(d, &all, &why) != OK || checkpoint_sweep(d, &why) != OK)
        LOG_W("UNTIDY", "the job is done, but not all of its files are as they should be: %s", why.text);
    return true;
}
