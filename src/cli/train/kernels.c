#include "cli/train/kernels.h"

#include "cli/line/size.h"

#include <stdlib.h>

/* Those around one operator; OP_COUNT: chains of functions of one element each. */
typedef struct kind {
    graph_op around;
    int32_t n;
    size_t bytes;
} kind;

enum { KINDS = OP_COUNT + 1 };

/* A view takes its operand's place, and its kernel does nothing. */
static bool is_view(const variant *v, const graph_node *n)
{
    if (!(graph_op_of(n->op)->traits & OP_ALIAS))
        return false;
    const plan_place *x = plan_place_of(v->plan, n->in[0]), *y = plan_place_of(v->plan, n->out[0]);
    return x->slab == y->slab && x->offset == y->offset;
}

static void count(const variant *v, kind *kinds)
{
    for (int32_t i = 0; i < graph_n_nodes(v->graph); i++) {
        graph_op around = OP_COUNT;
        size_t bytes = v->backend->note->operand_bytes(v->program, i, &around);
        if (!bytes || is_view(v, graph_node_at(v->graph, i)))
            continue;
        kinds[around].n++;
        kinds[around].bytes += bytes;
    }
}

static int by_bytes(const void *a, const void *b)
{
    const kind *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->around > y->around) - (x->around < y->around);
}

void kernels_print(const variant *v, buf *out)
{
    kind kinds[KINDS] = {0}, all = {0};
    char text[SIZE_TEXT];
    if (!v->backend->note || !v->backend->note->operand_bytes)
        return;
    for (int i = 0; i < KINDS; i++)
        kinds[i].around = (graph_op)i;
    count(v, kinds);
    qsort(kinds, KINDS, sizeof *kinds, by_bytes);
    buf_adds(out, "kernels, and what they read and write\n");
    for (int i = 0; i < KINDS && kinds[i].n; i++) {
        bool is_chain = kinds[i].around == OP_COUNT;
        buf_addf(out, "  %-28s %5d %10s\n",
                 is_chain ? "chains" : graph_op_of(kinds[i].around)->name, kinds[i].n,
                 size_text((double)kinds[i].bytes, text));
        all.n += kinds[i].n;
        all.bytes += kinds[i].bytes;
    }
    buf_addf(out, "in all %d kernels, %s of operands, %.1f GFLOP\n", all.n,
             size_text((double)all.bytes, text), graph_flops(v->graph) / 1e9);
}
