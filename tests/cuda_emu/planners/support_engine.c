#include "cuda_emu/planners/support_engine.h"

#include "cuda_emu/kernel_test.h"

void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s: %s", status_name(st), err->text);
}

exec *engine(const backend_ops *ops, const graph *g)
{
    error err = ERROR_INIT;
    exec *e = NULL;
    exec_options o = {.backend = ops, .device = {.threads = 1}, .graphs = &g, .n_graphs = 1};
    must(exec_create(&o, &e, &err), &err);
    return e;
}
