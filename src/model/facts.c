/* What files a model is made from, as facts. */
#include "model/initial.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/gcs.h"
#include "model/pretrained.h"
#include "onnx/facts.h"

#include <stdlib.h>
#include <string.h>

/* Weights to begin with are for the master to read, and once there is a checkpoint for nobody. */
static status look(const char *given, bool *ret_is_there, error *err)
{
    char *path = NULL;
    TRY(gcs_path(given, &path, err));
    *ret_is_there = fs_exists(path);
    free(path);
    return OK;
}

static status facts_of(const config *model, facts_check how, buf *ret, error *err)
{
    bool is_onnx = strcmp(config_str(model, "type"), "onnx") == 0, is_there;
    const config *pretrained = is_onnx ? NULL : config_section(model, "pretrained");
    if (!is_onnx && !pretrained)
        return OK;
    const config *names = is_onnx ? model : pretrained;
    const char *path = config_str(names, "path");
    TRY(look(path, &is_there, err));
    if (!is_there)
        return OK;
    char *option = xasprintf("%s.path", config_path(names));
    status st = is_onnx ? onnx_facts(path, option, how, ret, err)
                        : pretrained_facts(pretrained, option, how, ret, err);
    free(option);
    return st;
}

status model_facts(const config *model, facts_check how, buf *ret, error *err)
{
    const config *teacher = config_section(model, "distillation.teacher");
    if (how == FACTS_OFF)
        return OK;
    TRY(facts_of(model, how, ret, err));
    return teacher ? facts_of(teacher, how, ret, err) : OK;
}
