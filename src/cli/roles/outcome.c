#include "cli/roles/outcome.h"

#include "cli/run/onnx_file.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/store/jobend.h"
#include "common/store/jobstate.h"

#include <stdlib.h>

void outcome_note(const jobdir *d, status st, const char *text)
{
    jobstate now;
    if (st == OK || !jobdir_is_ours(d) || jobstate_read(d, &now, NULL) != OK)
        return;
    bool is_told =
        now.kind != JOBSTATE_RUNNING && now.kind != JOBSTATE_NONE && now.start == jobdir_starts(d);
    jobstate_fini(&now);
    error err = ERROR_INIT;
    if (!is_told && jobstate_end(d, st, text, &err) != OK)
        LOG_W("NO_STATE", "%s", err.text);
}

void outcome_write_onnx(const config *c, const jobdir *d)
{
    error err = ERROR_INIT;
    char *model = jobdir_file(d, "model.safetensors"), *vocabulary = NULL;
    char *path = jobdir_file(d, "model.onnx");
    status st = jobdir_read_vocabulary(d, &vocabulary, &err);
    onnx_file_request request = {
        .config = c, .model = model, .vocabulary = vocabulary, .path = path};
    if (st == OK && jobdir_is_ours(d))
        st = onnx_file_write(&request, &err);
    if (st != OK)
        LOG_W("NO_ONNX", "model.onnx is not written: %s", err.text);
    free(vocabulary);
    free(path);
    free(model);
}

void outcome_complete(const config *c, jobdir *d)
{
    if (!jobend_complete(d))
        return;
    char *path = jobdir_file(d, "model.onnx");
    if (!fs_exists(path))
        outcome_write_onnx(c, d);
    free(path);
    jobdir_let_go(d);
}
