#include "cli/host/gpus.h"

#include "backend/cuda/cuda.h"
#include "job/process/subprocess.h"

#include <string.h>

static status look(void *user, error *err)
{
    gpus *g = user;
    (void)err;
    while (g->n < GPUS_MOST && cuda_find(g->n, g->n ? NULL : &g->why[0]) == OK) {
        (void)!backend_cuda.describe(g->n, &g->at[g->n], &g->why[g->n]);
        g->n++;
    }
    return OK;
}

void gpus_look(gpus *ret)
{
    error err = ERROR_INIT;
    memset(ret, 0, sizeof *ret);
    if (subprocess_run(look, ret, ret, sizeof *ret, &err) == OK)
        return;
    ret->n = 0;
    ret->why[0] = err;
}
