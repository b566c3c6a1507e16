#include "cli/run/recomputed.h"

#include "cli/line/size.h"

static double share_of(double part, double all)
{
    return all > 0 ? part / all : 0;
}

json_t *recomputed_json(const exec_memory *m, size_t budget)
{
    const recompute_cost *c = &m->again;
    if (!budget)
        return json_null();
    return json_pack("{s:I, s:i, s:I, s:I, s:f, s:f}", "budget", (json_int_t)budget, "nodes", (int)c->n_nodes,
                     "temp_without", (json_int_t)(m->temp + m->saved), "saved", (json_int_t)m->saved, "flops_share",
                     share_of(c->flops, c->forward_flops), "bytes_share", share_of(c->moved, c->forward_moved));
}

static double number(const json_t *r, const char *key)
{
    return json_number_value(json_object_get(r, key));
}

void recomputed_text(const json_t *r, buf *ret)
{
    char budget[SIZE_TEXT], without[SIZE_TEXT], saved[SIZE_TEXT];
    if (json_is_null(r))
        return;
    size_text(number(r, "budget"), budget);
    if (number(r, "nodes") == 0) {
        buf_addf(ret, "trainer.memory           %12s: nothing is computed again\n", budget);
        return;
    }
    buf_addf(ret, "trainer.memory           %12s: %.0f nodes of forward are computed again in backward\n", budget,
             number(r, "nodes"));
    buf_addf(ret, "  values between nodes   %12s less than the %s they would take\n",
             size_text(number(r, "saved"), saved), size_text(number(r, "temp_without"), without));
    buf_addf(ret,
             "  more work              %11.1f%% of forward's FLOPs, %.1f%% of the bytes that forward reads and "
             "writes\n",
             100 * number(r, "flops_share"), 100 * number(r, "bytes_share"));
}
