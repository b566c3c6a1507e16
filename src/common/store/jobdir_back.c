/*
 * Going back to a checkpoint that was chosen (--recover=step-N). Newer ones are set aside, so that it is the
 * newest, and all else follows as whenever a job goes back.
 *
 * job.json says so first ("went_back"): until the job has come to its first step from there, a master that
 * starts finishes it, and what servers still hold does not count. Tasks that are started again are given the
 * same arguments, so one step is gone back to once, until the job is done.
 */
#include "common/store/jobdir_internal.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/store/checkpoint.h"

#include <stdlib.h>

static const json_t *mark_of(const jobdir *d)
{
    return json_object_get(d->job, "went_back");
}

static int64_t marked_step(const jobdir *d)
{
    const json_t *step = json_object_get(mark_of(d), "step");
    return step ? json_integer_value(step) : -1;
}

bool jobdir_goes_back(const jobdir *d)
{
    return json_is_true(json_object_get(mark_of(d), "pending"));
}

bool jobdir_must_go_back(const jobdir *d, const jobdir_request *r, bool is_done)
{
    return r->chooses && (is_done || jobdir_goes_back(d) || marked_step(d) != r->step);
}

static status fail_not_kept(const jobdir *d, int64_t step, error *err)
{
    int64_t *list = NULL;
    size_t n = 0;
    buf kept = BUF_INIT;
    TRY(checkpoint_list(d, &list, &n, err));
    for (size_t i = 0; i < n; i++)
        buf_addf(&kept, "%sstep-%lld", i ? ", " : "", (long long)list[i]);
    status st = FAIL(err, E_CONFIG, "--recover=step-%lld: '%s' keeps no checkpoint of that step; it keeps %s",
                     (long long)step, d->path, n ? kept.data : "none");
    buf_fini(&kept);
    free(list);
    return st;
}

status jobdir_check_choice(const jobdir *d, int64_t step, error *err)
{
    checkpoint *c = NULL;
    if (!checkpoint_is_there(d, step))
        return fail_not_kept(d, step, err);
    char *path = checkpoint_path(d, step);
    status st = checkpoint_open(path, true, &c, err);
    checkpoint_close(&c);
    free(path);
    if (st != OK)
        error_prepend(err, "--recover=step-%lld", (long long)step);
    return st;
}

static status mark(jobdir *d, int64_t step, bool pending, error *err)
{
    return jobdir_update(d, "went_back",
                         json_pack("{s:I, s:b}", "step", (json_int_t)step, "pending", (int)pending), err);
}

status jobdir_go_back(jobdir *d, const jobdir_request *r, error *err)
{
    bool is_done;
    TRY(jobdir_is_done(d, &is_done, err));
    bool must = jobdir_must_go_back(d, r, is_done);
    if (r->chooses && !must)
        LOG_W("BACK",
              "to step=%lld the job went before, and it goes on from its newest checkpoint: a task "
              "that is started again is told the same",
              (long long)r->step);
    if (must)
        TRY(mark(d, r->step, true, err));
    if (!jobdir_goes_back(d))
        return OK;
    TRY(jobdir_remove_results(d, err));
    return checkpoint_undo(d, marked_step(d), err);
}

status jobdir_gone_back(jobdir *d, error *err)
{
    return jobdir_goes_back(d) ? mark(d, marked_step(d), false, err) : OK;
}
