#include "backend/cuda/library/dnn_engine.h"

#include "backend/cuda/library/api.h"
#include "backend/cuda/library/dnn_desc.h"

enum {
    CONFIGS = 64, /* of one mode that are looked at */
    NOTES = 16,
};

static bool has_note(const unsigned notes[], int64_t n, unsigned note)
{
    for (int64_t i = 0; i < n; i++)
        if (notes[i] == note)
            return true;
    return false;
}

static status check_engine(dnn_desc engine, bool exact, error *err)
{
    unsigned notes[NOTES];
    int64_t n = 0;
    TRY_DNN(api.cudnnBackendGetAttribute(engine, DNN_ENGINE_NUMERICAL_NOTE, DNN_IS_NUMERICAL_NOTE,
                                         NOTES, &n, notes),
            "an engine's notes");
    if (has_note(notes, n, DNN_NOTE_NONDETERMINISTIC))
        return FAIL(err, E_UNSUPPORTED, "its bits are others every time");
    if (has_note(notes, n, DNN_NOTE_ROUNDS_SUMS))
        return FAIL(err, E_UNSUPPORTED, "its sums are not float32");
    if (exact &&
        (has_note(notes, n, DNN_NOTE_TENSOR_CORE) || has_note(notes, n, DNN_NOTE_ROUNDS_FACTORS)))
        return FAIL(err, E_UNSUPPORTED, "its products are not float32");
    return OK;
}

static status check_config(dnn_desc config, bool exact, error *err)
{
    dnn_desc engine = NULL;
    int64_t n = 0;
    TRY_DNN(api.cudnnBackendCreateDescriptor(DNN_ENGINE, &engine), "an engine");
    status st = dnn_check(
        api.cudnnBackendGetAttribute(config, DNN_CONFIG_ENGINE, DNN_IS_DESCRIPTOR, 1, &n, &engine),
        "a configuration's engine", err);
    if (st == OK)
        st = check_engine(engine, exact, err);
    dnn_destroy(&engine);
    return st;
}

status dnn_engine_fits(dnn_engine *e, error *err)
{
    int64_t n = 0;
    status st = dnn_check(api.cudnnBackendGetAttribute(e->plan, DNN_PLAN_WORKSPACE, DNN_IS_INT64, 1, &n,
                                                   &e->scratch_bytes),
                      "a plan's workspace", err);
    if (st == OK && e->scratch_bytes > e->scratch_most)
        st = FAIL(err, E_UNSUPPORTED, "it wants %lld bytes of workspace, more than %lld",
                  (long long)e->scratch_bytes, (long long)e->scratch_most);
    if (st != OK)
        dnn_destroy(&e->plan);
    return st;
}

static status plan_config(dnn_engine *e, dnn_desc device, dnn_desc config, error *err)
{
    TRY(dnn_describe(DNN_PLAN,
                     DNN_ATTRIBUTES({DNN_PLAN_CONFIG, DNN_IS_DESCRIPTOR, 1, &config},
                                    {DNN_PLAN_DEVICE, DNN_IS_DESCRIPTOR, 1, &device}),
                     &e->plan, err));
    return dnn_engine_fits(e, err);
}

/* Of the heuristics' n configurations the first that will do is taken. What refused the last one is left in
 * `why`. */
static status choose(dnn_engine *e, dnn_desc device, dnn_desc configs[], int64_t n, error *why)
{
    for (int64_t i = 0; i < n; i++) {
        error_clear(why);
        status st = check_config(configs[i], e->exact, why);
        if (st == OK)
            st = plan_config(e, device, configs[i], why);
        if (st == E_UNSUPPORTED)
            continue;
        if (st == OK) {
            e->config = configs[i];
            configs[i] = NULL;
        }
        return st;
    }
    return E_UNSUPPORTED;
}

static status choose_of_heuristics(dnn_engine *e, dnn_desc device, dnn_desc heuristics, error *why)
{
    dnn_desc configs[CONFIGS] = {NULL};
    int64_t n = 0;
    unsigned result = API_SUCCESS;
    for (int i = 0; i < CONFIGS && result == API_SUCCESS; i++)
        result = api.cudnnBackendCreateDescriptor(DNN_CONFIG, &configs[i]);
    if (result == API_SUCCESS)
        result = api.cudnnBackendGetAttribute(heuristics, DNN_HEURISTICS_RESULTS, DNN_IS_DESCRIPTOR,
                                              CONFIGS, &n, configs);
    status st = dnn_check(result, "what the heuristics found", why);
    if (st == OK)
        st = choose(e, device, configs, n < CONFIGS ? n : CONFIGS, why);
    for (int i = 0; i < CONFIGS; i++)
        dnn_destroy(&configs[i]);
    return st;
}

static status choose_of_mode(dnn_engine *e, dnn_desc of, dnn_desc device, unsigned mode, error *why)
{
    dnn_desc heuristics = NULL;
    TRY(dnn_describe(DNN_HEURISTICS,
                     DNN_ATTRIBUTES({DNN_HEURISTICS_GRAPH, DNN_IS_DESCRIPTOR, 1, &of},
                                    {DNN_HEURISTICS_MODE, DNN_IS_HEURISTICS_MODE, 1, &mode},
                                    {DNN_HEURISTICS_DEVICE, DNN_IS_DESCRIPTOR, 1, &device}),
                     &heuristics, why));
    status st = choose_of_heuristics(e, device, heuristics, why);
    dnn_destroy(&heuristics);
    return st;
}

status dnn_engine_find(dnn_engine *e, dnn_desc of, dnn_desc device, error *err)
{
    error why = ERROR_INIT;
    status st = choose_of_mode(e, of, device, DNN_MODE_A, &why);
    if (st == E_UNSUPPORTED) {
        error of_fallbacks = ERROR_INIT;
        st = choose_of_mode(e, of, device, DNN_MODE_FALLBACK, &of_fallbacks);
        why = of_fallbacks.code != OK ? of_fallbacks : why;
    }
    if (st == E_UNSUPPORTED)
        return FAIL(err, st, "no engine of cuDNN does%s%s", *why.text ? "; the last one: " : "",
                    why.text);
    return st == OK ? OK : FAIL(err, st, "%s", why.text);
}
