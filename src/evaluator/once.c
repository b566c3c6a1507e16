/* One model, once (evaluator.h). */
#include "evaluator/evaluation.h"
#include "evaluator/evaluator.h"

static status open_loaded(const evaluator_request *request, bool predicts, evaluation **ret,
                          error *err)
{
    evaluation_options how = {.config = request->config,
                              .data_path = request->data_path,
                              .part = request->part,
                              .batch_size = request->batch_size,
                              .batch_key = request->batch_key,
                              .vocabulary = request->vocabulary,
                              .device = request->device,
                              .stop = request->stop};
    evaluation *e = NULL;
    weights *w = NULL;
    TRY(weights_open(request->model, &w, err));
    how.predict = predicts ? w : NULL;
    status st = evaluation_open(&how, &e, err);
    if (st == OK)
        st = evaluation_load(e, w, err);
    weights_close(&w);
    if (st == OK)
        *ret = e;
    else
        evaluation_close(&e);
    return st;
}

status evaluator_evaluate(const evaluator_request *request, metric_set *ret, metric_figures *ret_figures,
                          error *err)
{
    evaluation *e = NULL;
    metric_figures figures = {.at = NULL};
    TRY(open_loaded(request, false, &e, err));
    status st = evaluation_run(e, ret, &figures, err);
    if (st == OK)
        st = evaluation_check(e, err);
    if (st == OK)
        *ret_figures = figures;
    else
        metric_figures_fini(&figures);
    evaluation_close(&e);
    return st;
}

status evaluator_predict(const evaluator_request *request, evaluation_taker *take, void *user,
                         error *err)
{
    evaluation *e = NULL;
    TRY(open_loaded(request, true, &e, err));
    status st = evaluation_predict(e, take, user, err);
    evaluation_close(&e);
    return st;
}
