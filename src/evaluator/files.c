#include "evaluator/files.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "model/initial.h"

#include <stdlib.h>

status files_tell(const config *c, const dataset *data, buf *ret, error *err)
{
    facts_check how = facts_check_of(c);
    dataset_facts(data, "validation_data_path", how, ret);
    TRY(model_facts(config_section(c, "model"), how, ret, err));
    facts_log(ret->data);
    return OK;
}

/* What is known already: of the job as it is now, and of what it was evaluated on. */
static status read_known(const jobdir *d, const char *path, buf *ret, error *err)
{
    jobdir *now = NULL;
    json_t *before = NULL;
    TRY(jobdir_open(jobdir_path(d), &now, err));
    jobdir_files(now, ret);
    jobdir_close(&now);
    status st = fs_exists(path) ? json_read_file(path, &before, err) : OK;
    facts_from_json(before, ret);
    json_decref(before);
    return st;
}

static status compare(const char *known, const char *facts, error *err)
{
    buf what = BUF_INIT;
    status st = OK;
    if (facts_differ(known, facts, &what))
        st = FAIL(err, E_DATA,
                  "the evaluator reads other files than this job did until now: %s; give it those files "
                  "or, if they are to be replaced, go on with data_check: \"off\"",
                  what.data);
    buf_fini(&what);
    return st;
}

static status keep(const jobdir *d, const char *path, const char *facts, error *err)
{
    char *folder = jobdir_file(d, "eval");
    json_t *told = facts_to_json(facts);
    status st = fs_mkdirs(folder, err);
    if (st == OK)
        st = json_write_file(path, told, err);
    json_decref(told);
    free(folder);
    return st;
}

status files_check(const config *c, const jobdir *d, const char *facts, error *err)
{
    char *path = jobdir_file(d, "eval/files.json");
    buf known = BUF_INIT;
    status st;
    if (facts_check_of(c) == FACTS_OFF) {
        st = fs_remove_tree(path, err);
        goto out;
    }
    TRY_OUT(st, read_known(d, path, &known, err));
    TRY_OUT(st, compare(known.data, facts, err));
    if (facts_merge(&known, facts))
        st = keep(d, path, facts, err);
out:
    buf_fini(&known);
    free(path);
    return st;
}
