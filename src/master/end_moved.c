/*
 * A job whose end was moved: what that does to the learning rate, said once and kept in the job's
 * history. A schedule that ends with training has another curve from here on; steps that are
 * trained keep the rates they had.
 */
#include "master/state.h"

#include "common/base/log.h"
#include "common/config/training.h"
#include "common/store/history.h"
#include "optim/settings.h"

static json_t *rates_at(const master *m, const lr_sequence *before, int64_t step, const lr_sequence *since,
                        int64_t then)
{
    return json_pack("[f, f]", (double)lr_sequence_rate(before, step, results_reductions(m->results, step)),
                     (double)lr_sequence_rate(since, then, results_reductions(m->results, then)));
}

static status tell_move(master *m, json_t *entry, error *err)
{
    const config *c = m->o->config;
    int64_t step = json_integer_value(json_object_get(entry, "step"));
    int64_t end[2] = {training_end(&m->plan.steps, json_object_get(entry, "was")),
                      training_end(&m->plan.steps, json_object_get(entry, "is"))};
    lr_sequence before = lr_settings(c, master_span(m, end[0]));
    lr_sequence since = lr_settings(c, master_span(m, end[1]));
    bool is_other = !lr_sequence_equal(&before, &since);
    json_t *rates = json_pack(
        "{s:s, s:b, s:o, s:o}", "schedule", lr_sequence_name(&since), "changed", is_other,
        "at_step", rates_at(m, &before, step, &since, step), "at_end",
        rates_at(m, &before, end[0] - 1, &since, end[1] - 1));
    TRY(history_complete(m->o->dir, entry, end, rates, err));
    buf text = BUF_INIT;
    history_print(entry, &text);
    LOG_I("END_MOVED", "%s", text.data);
    buf_fini(&text);
    if (is_other && step > since.schedules[0].warmup_steps)
        LOG_W("OTHER_CURVE",
              "the first %lld steps were trained at the rates of the curve before: the weights "
              "will not be those of a job that had this end from the start",
              (long long)step);
    return OK;
}

status master_tell_moves(master *m, error *err)
{
    for (json_t *entry; (entry = history_open_entry(m->o->dir));)
        TRY(tell_move(m, entry, err));
    return OK;
}
