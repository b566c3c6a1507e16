#include "cli/use/predictions.h"

#include "cli/use/answer_line.h"
#include "cli/use/prediction_line.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    const predictions *how;
    FILE *to;
    const char *name; /* for messages */
    int64_t done;
    buf line;
    answer_lines answers; /* of examples that are parts of questions */
} writer;

static status write_line(writer *w, bool *ret_enough, error *err)
{
    if (w->line.size == 0)
        return OK;
    if (w->to && fwrite(w->line.data, 1, w->line.size, w->to) != w->line.size)
        return FAIL(err, E_IO, "write to '%s': %s", w->name, strerror(errno));
    *ret_enough = ++w->done == w->how->limit;
    return OK;
}

static status take_answer(void *user, const evaluation_predictions *a, bool *ret_enough, error *err)
{
    writer *w = user;
    const prediction_form form = {.with_inputs = w->how->with_inputs, .temperature = w->how->temperature};
    if (form.temperature > 0.0 && (answer_lines_fit(a) || !prediction_line_has_temperature(a)))
        return FAIL(err, E_USAGE, "predict: --temperature changes probabilities that follow from logits, and the lines "
                                  "of this model have none");
    for (int64_t i = 0; i < a->examples && !*ret_enough; i++) {
        buf_clear(&w->line);
        if (answer_lines_fit(a))
            TRY(answer_lines_take(&w->answers, a, i, w->how->with_inputs, &w->line, err));
        else
            prediction_line(a, i, w->done, &form, &w->line);
        TRY(write_line(w, ret_enough, err));
    }
    return OK;
}

/* The last question has no other behind it. */
static status end_answers(writer *w, error *err)
{
    bool enough = w->how->limit > 0 && w->done == w->how->limit;
    buf_clear(&w->line);
    if (!enough)
        answer_lines_end(&w->answers, &w->line);
    return write_line(w, &enough, err);
}

static status write_to(writer *w, const evaluator_request *request, error *err)
{
    status st = evaluator_predict(request, take_answer, w, err);
    if (st == OK)
        st = end_answers(w, err);
    answer_lines_fini(&w->answers);
    buf_fini(&w->line);
    return st;
}

static status write_file(writer *w, const evaluator_request *request, error *err)
{
    char *beside = fs_beside(w->name);
    status st = OK;
    w->to = fopen(beside, "we");
    if (!w->to)
        st = FAIL(err, E_IO, "open '%s': %s", w->name, strerror(errno));
    if (st == OK)
        st = write_to(w, request, err);
    if (w->to && fclose(w->to) != 0 && st == OK)
        st = FAIL(err, E_IO, "write to '%s': %s", w->name, strerror(errno));
    if (st == OK && rename(beside, w->name) != 0)
        st = FAIL(err, E_IO, "rename to '%s': %s", w->name, strerror(errno));
    if (st != OK)
        remove(beside);
    free(beside);
    return st;
}

status predictions_write(const predictions *p, const evaluator_request *request, error *err)
{
    writer w = {.how = p, .to = p->is_silent ? NULL : stdout, .name = "standard output"};
    if (!p->path)
        return write_to(&w, request, err);
    w.name = p->path;
    return write_file(&w, request, err);
}
