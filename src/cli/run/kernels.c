#include "cli/run/kernels.h"

#include "cli/line/size.h"
#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Those around one operator; OP_COUNT: chains of functions of one element each. */
typedef struct kind {
    graph_op around;
    int32_t n;
    size_t bytes, workspaces;
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

static bool holds(const graph_val *list, int32_t n, graph_val v)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return false;
}

/* Where the backend does not tell. */
static size_t operand_bytes(const variant *v, const graph_node *n)
{
    size_t bytes = 0;
    for (int32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != GRAPH_NONE && !holds(n->in, i, n->in[i]))
            bytes += v->backend->value_bytes(v->program, n->in[i]);
    for (int32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != GRAPH_NONE)
            bytes += v->backend->value_bytes(v->program, n->out[i]);
    return bytes;
}

static kernel_facts facts_at(const variant *v, int32_t node)
{
    const graph_node *n = graph_node_at(v->graph, node);
    const backend_note_ops *note = v->backend->note;
    kernel_facts k = {.runs = v->kernels[node].run && !is_view(v, n), .around = n->op, .node = node};
    if (!k.runs)
        return k;
    k.workspace = v->kernels[node].workspace_bytes;
    if (note && note->operand_bytes)
        k.bytes = note->operand_bytes(v->program, node, &k.around);
    else
        k.bytes = operand_bytes(v, n);
    return k;
}

/* Adds a node to the kernel that computes it. */
static void add_node(const variant *v, int32_t node, kernel_facts *k)
{
    const backend_note_ops *note = v->backend->note;
    const char *by = note && note->done_by ? note->done_by(v->program, node) : NULL;
    k->flops += graph_node_flops(v->graph, node);
    if (graph_node_at(v->graph, node)->op == k->around)
        k->node = node;
    if (by)
        k->by = by;
}

kernel_facts *kernels_of(const variant *v)
{
    int32_t n = graph_n_nodes(v->graph);
    kernel_facts *k = xcalloc((size_t)n + 1, sizeof *k);
    for (int32_t i = 0; i < n; i++)
        k[i] = facts_at(v, i);
    for (int32_t i = 0; i < n; i++)
        add_node(v, i, &k[v->backend->fusion ? v->backend->fusion->runs_at(v->program, i) : i]);
    return k;
}

const char *kernels_name(graph_op around)
{
    return around == OP_COUNT ? "chains" : graph_op_of(around)->name;
}

static void count(const variant *v, kind *kinds)
{
    kernel_facts *k = kernels_of(v);
    for (int32_t i = 0; i < graph_n_nodes(v->graph); i++)
        if (k[i].runs && k[i].bytes) {
            kinds[k[i].around].n++;
            kinds[k[i].around].bytes += k[i].bytes;
            kinds[k[i].around].workspaces += k[i].workspace;
        }
    free(k);
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
        buf_addf(out, "  %-28s %5d %10s\n", kernels_name(kinds[i].around), kinds[i].n,
                 size_text((double)kinds[i].bytes, text));
        all.n += kinds[i].n;
        all.bytes += kinds[i].bytes;
        all.workspaces += kinds[i].workspaces;
    }
    buf_addf(out, "in all %d kernels, %s of operands, %.1f GFLOP\n", all.n,
             size_text((double)all.bytes, text), graph_flops(v->graph) / 1e9);
    buf_addf(out, "workspaces of kernels, each written and read: %s\n",
             size_text((double)all.workspaces, text));
}

/* --- by what --- */

/* Kernels that the same computes, for the same reason. */
typedef struct computed {
    const char *by;
    double flops;
    int32_t n[KINDS];
} computed;

static int by_flops(const void *a, const void *b)
{
    const computed *x = a, *y = b;
    if (x->flops != y->flops)
        return x->flops > y->flops ? -1 : 1;
    return strcmp(x->by, y->by);
}

static size_t group_by(const kernel_facts *k, int32_t n, computed *ret)
{
    size_t n_groups = 0;
    for (int32_t i = 0; i < n; i++) {
        size_t at = 0;
        if (!k[i].runs || !k[i].by)
            continue;
        while (at < n_groups && strcmp(ret[at].by, k[i].by) != 0)
            at++;
        n_groups += at == n_groups;
        ret[at].by = k[i].by;
        ret[at].flops += k[i].flops;
        ret[at].n[k[i].around]++;
    }
    return n_groups;
}

void kernels_print_by(const variant *v, buf *out)
{
    int32_t n = graph_n_nodes(v->graph);
    double all = graph_flops(v->graph);
    kernel_facts *k = kernels_of(v);
    computed *c = xcalloc((size_t)n + 1, sizeof *c);
    size_t n_groups = group_by(k, n, c);
    qsort(c, n_groups, sizeof *c, by_flops);
    for (size_t i = 0; i < n_groups; i++) {
        buf_addf(out, "by %s:", c[i].by);
        for (int around = 0; around < KINDS; around++)
            if (c[i].n[around])
                buf_addf(out, " %d %s,", c[i].n[around], kernels_name((graph_op)around));
        buf_addf(out, " %.1f %% of the FLOPs\n", all > 0 ? 100 * c[i].flops / all : 0);
    }
    free(c);
    free(k);
}
