#include "cli/use/allennlp_flags.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "data/data.h"

#include <string.h>

static const struct {
    const char *flag;
    bool takes_object; /* {} as well as "" */
    const char *reason;
} rows[] = {
    {"batch-weight-key", false, "a loss is the mean over examples; give \"\""},
    {"embedding-sources-mapping", true, "no table of words gets new rows; give {}"},
    {"predictor-args", true, "lines of JSON follow from the model's loss, and there are no predictors; give {}"},
    {"multitask-head", false, "a model has one head; leave it out"},
};

static bool has_flag(const args *a, const char *name)
{
    const command *c = a->command;
    for (size_t i = 0; i < c->n_flags; i++)
        if (strcmp(c->flags[i].name, name) == 0)
            return true;
    return false;
}

status allennlp_flags_check(const args *a, error *err)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *value = has_flag(a, rows[i].flag) ? args_text(a, rows[i].flag) : NULL;
        if (!value || !value[0] || (rows[i].takes_object && strcmp(value, "{}") == 0))
            continue;
        return FAIL(err, E_USAGE, "%s: --%s '%s' is refused: %s", a->command->name, rows[i].flag, value,
                    rows[i].reason);
    }
    return OK;
}

status allennlp_flags_extend(const args *a, const config *c, error *err)
{
    if (!args_has(a, "extend-vocab"))
        return OK;
    if (dataset_learns(config_section(c, "validation_dataset_reader")))
        return FAIL(err, E_USAGE,
                    "%s: --extend-vocab is refused: a word or a class that the training data did not have has no row "
                    "in the model's tables; it counts as unknown",
                    a->command->name);
    LOG_W("ALLENNLP", "--extend-vocab is ignored: the data have no words but those of the model's tokenizer");
    return OK;
}
