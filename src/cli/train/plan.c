/*
 * `tequio plan`: what a lane does with a batch, node by node, and where all of it lies in memory.
 * The graph, the parts and the places are the very ones that a worker computes with there.
 */
#include "backend/registry.h"
#include "cli/commands.h"
#include "cli/line/size.h"
#include "cli/run/kernels.h"
#include "cli/run/model_archive.h"
#include "cli/run/recomputed.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/config/training.h"
#include "exec/footprint.h"
#include "graph/print.h"
#include "worker/variants.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 12 };

typedef struct planned {
    config *config;
    variants variants;
    backend_choice on;
    backend *device;
    variant lane; /* of a full batch */
    exec_memory memory;
} planned;

static void planned_fini(planned *p)
{
    variant_unload(&p->lane);
    if (p->device)
        p->on.ops->close(&p->device);
    variants_fini(&p->variants);
    config_destroy(&p->config);
}

static status make(const args *a, planned *p, error *err)
{
    config_source source = {.path = a->operands[0],
                            .overrides = args_text(a, "overrides"),
                            .read_archive = model_archive_config};
    const char *device = args_text(a, "device");
    TRY(config_load(&source, &p->config, err));
    int threads = (int)config_int(p->config, "trainer.threads");
    TRY(backend_named(device ? device : "cpu", threads, &p->on, err));
    TRY(variants_build(p->config, &p->variants, err));
    TRY(p->on.ops->open(&p->on.options, &p->device, err));
    TRY(variant_load(&p->lane, p->on.ops, p->device, p->variants.graphs[0], p->variants.flat, err));
    return footprint_fit(&p->lane, 1, p->variants.flat, 0, training_memory(p->config), &p->memory, err);
}

/* --- what moves --- */

static status print_moving(const planned *p, buf *out, error *err)
{
    trainable m;
    TRY(variants_moving(p->config, &p->variants, &m, err));
    for (size_t i = 0; i < m.n; i++) {
        buf_addf(out, "%s ", m.rows[i].what);
        trainable_row_text(&m.rows[i], out);
        buf_adds(out, "\n");
    }
    trainable_fini(&m);
    return OK;
}

/* --- libraries --- */

static void print_libraries(const planned *p, buf *out)
{
    const backend_note_ops *of = p->on.ops->note;
    const char *note =
        of && of->products ? of->products(graph_precision_of(p->lane.graph)) : NULL;
    if (note)
        buf_addf(out, "products, %s\n", note);
    for (int32_t i = 0; of && of->done_by && i < graph_n_nodes(p->lane.graph); i++) {
        const graph_node *n = graph_node_at(p->lane.graph, i);
        const char *by = of->done_by(p->lane.program, i);
        if (by)
            buf_addf(out, "node %d, %s %s, by %s\n", i, graph_op_of(n->op)->name, n->name, by);
    }
}

/* --- parts --- */

static void print_moment(const char *what, int32_t node, buf *out)
{
    if (node < 0)
        buf_addf(out, ", never %s", what);
    else
        buf_addf(out, ", %s node %d", what, node);
}

static void print_part(const planned *p, int32_t part, buf *out)
{
    const flat *f = p->variants.flat;
    size_t n;
    const part_segment *s = flat_part_segments(f, part, &n);
    buf_addf(out, "part %d of %lld elements%s", part, (long long)flat_part_elements(f, part),
             f->parts[part].frozen ? ", frozen" : "");
    print_moment("read before", plan_part_need_before(p->lane.plan, part), out);
    if (!f->parts[part].frozen)
        print_moment("ready after", plan_part_ready_after(p->lane.plan, part), out);
    buf_addf(out, ": %s", f->tensors[s[0].tensor].name);
    if (n > 1)
        buf_addf(out, " to %s", f->tensors[s[n - 1].tensor].name);
    buf_adds(out, "\n");
}

/* --- memory --- */

static void print_slabs(const planned *p, buf *out)
{
    static const char *const names[] = {
        [SLAB_PARAM] = "parameters", [SLAB_GRAD] = "gradients", [SLAB_IO] = "inputs and outputs",
        [SLAB_TEMP] = "values between nodes", [SLAB_CONST] = "constants"};
    char text[SIZE_TEXT];
    buf_addf(out, "memory for a batch of %lld\n", (long long)p->variants.shapes[0].examples);
    for (int slab = 0; slab < SLAB_COUNT; slab++)
        buf_addf(out, "  %-22s %10s\n", names[slab],
                 size_text((double)plan_slab_bytes(p->lane.plan, (plan_slab)slab), text));
    buf_addf(out, "  %-22s %10s\n", "workspace of a node",
             size_text((double)p->lane.workspace_bytes, text));
    json_t *again = recomputed_json(&p->memory, training_memory(p->config));
    recomputed_text(again, out);
    json_decref(again);
}

typedef struct range {
    size_t begin, end;
    graph_val value;
} range;

static int by_place(const void *a, const void *b)
{
    const range *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

static int by_bytes(const void *a, const void *b)
{
    const range *x = a, *y = b;
    size_t m = x->end - x->begin, n = y->end - y->begin;
    return m != n ? (m > n ? -1 : 1) : (x->value > y->value) - (x->value < y->value);
}

/* What lies between nodes while `node` runs, every byte once: of values that share a place, the one
 * that was first. */
static size_t ranges_at(const planned *p, int32_t node, range *ret)
{
    size_t n = 0, kept = 0;
    for (graph_val v = 0; v < graph_n_values(p->lane.graph); v++) {
        const plan_place *place = plan_place_of(p->lane.plan, v);
        if (place->materialised && place->slab == SLAB_TEMP && place->bytes &&
            place->first <= node && node <= place->last)
            ret[n++] = (range){place->offset, place->offset + place->bytes, v};
    }
    qsort(ret, n, sizeof *ret, by_place);
    for (size_t i = 0; i < n; i++)
        if (!kept || ret[i].begin >= ret[kept - 1].end)
            ret[kept++] = ret[i];
    return kept;
}

static size_t ranges_bytes(const range *s, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += s[i].end - s[i].begin;
    return bytes;
}

static void print_ranges(const planned *p, int32_t node, range *s, buf *out)
{
    char text[SIZE_TEXT];
    size_t n = ranges_at(p, node, s);
    buf_addf(out, "at node %d, %s, %zu values between nodes take most: %s\n", node,
             graph_node_at(p->lane.graph, node)->name, n,
             size_text((double)ranges_bytes(s, n), text));
    qsort(s, n, sizeof *s, by_bytes);
    for (size_t i = 0; i < n && i < LARGEST; i++) {
        const plan_place *place = plan_place_of(p->lane.plan, s[i].value);
        buf_addf(out, "  %10s %s, node %d to %d\n",
                 size_text((double)(s[i].end - s[i].begin), text),
                 graph_value_at(p->lane.graph, s[i].value)->name, place->first, place->last);
    }
}

static void print_fullest(const planned *p, buf *out)
{
    range *s = xcalloc((size_t)graph_n_values(p->lane.graph) + 1, sizeof *s);
    int32_t fullest = -1;
    size_t most = 0;
    for (int32_t node = 0; node < graph_n_nodes(p->lane.graph); node++) {
        size_t bytes = ranges_bytes(s, ranges_at(p, node, s));
        if (bytes > most) {
            most = bytes;
            fullest = node;
        }
    }
    if (fullest >= 0)
        print_ranges(p, fullest, s, out);
    free(s);
}

/* --- launches --- */

static void print_launches(planned *p, buf *out)
{
    if (!p->on.ops->recorder)
        return;
    variant_cut(&p->lane, true);
    size_t resident = p->lane.n_segments;
    variant_cut(&p->lane, false);
    buf_addf(out, "a step's kernels are %zu launches, or %zu where parts stay on the device\n",
             p->lane.n_segments, resident);
}

static status print_plan(planned *p, buf *out, error *err)
{
    graph_print(p->lane.graph, out);
    TRY(print_moving(p, out, err));
    print_libraries(p, out);
    for (int32_t part = 0; part < p->variants.flat->n_parts; part++)
        print_part(p, part, out);
    print_slabs(p, out);
    print_fullest(p, out);
    kernels_print(&p->lane, out);
    print_launches(p, out);
    kernels_print_by(&p->lane, out);
    return OK;
}

static int run_plan(const args *a, error *err)
{
    planned p = {.config = NULL};
    buf text = BUF_INIT;
    status st = make(a, &p, err);
    if (st == OK)
        st = print_plan(&p, &text, err);
    if (st == OK)
        fputs(text.data, stdout);
    buf_fini(&text);
    planned_fini(&p);
    return status_exit_code(st);
}

static const flag plan_flags[] = {
    {"device", 0, FLAG_TEXT, "NAME", "Device", "Where: cpu, the default, or cuda:0, also written /gpu:0.",
     0, 0},
    {"overrides", 'o', FLAG_TEXT, "JSON", "Configuration",
     "Values that replace those of CONFIG: an object, nested or with dotted keys.", 0, 0},
};

const command command_plan = {
    .name = "plan",
    .operands = "CONFIG",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Show what is computed for a batch, in which order, and where it lies in memory.",
    .about =
        "Builds the model that CONFIG describes, as for training, and prints, a line each: the "
        "inputs, the parameters and the constants; the nodes in the order in which they run, with "
        "what they read and the shapes of what they make, a * behind a value that is kept; which tensors "
        "move, which do not, and why; on a "
        "GPU, of products, convolutions and attention which library computes them, or why it is a "
        "kernel of ours; the parts of the vector of parameters, with the node before which their "
        "weights must be there and the one after which their gradient goes out; the memory that all of it takes; "
        "and at which node it is fullest, with the largest values there; on a GPU the kernels of a step by the "
        "operators that they are around, with the bytes of what they read and write, and by each library, and for each "
        "reason why one does not compute them, their share of the model's FLOPs: what a mask, dropout or a precision "
        "costs.\n\n"
        "What a whole run takes, tasks, servers and steps, 'tequio train CONFIG --dry-run' tells.",
    .flags = plan_flags,
    .n_flags = COUNT_OF(plan_flags),
    .run = run_plan,
};
