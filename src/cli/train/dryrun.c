/*
 * One report, made as JSON and, for people, printed from that. The numbers come from the very
 * functions that a run uses: the worker's variants, plan, placement, steps.
 */
#include "cli/train/dryrun.h"

#include "cli/line/size.h"
#include "cli/run/recomputed.h"
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/config/training.h"
#include "common/parts/placement.h"
#include "exec/budget.h"
#include "exec/exec.h"
#include "optim/settings.h"
#include "worker/inputs.h"
#include "worker/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum { FLOAT = (int)sizeof(float) };

typedef struct built {
    variants variants;
    trainable moving;
    exec_memory memory;
    size_t needed;    /* of the host's memory */
    size_t room;      /* that each server's steps work in */
    host_memory host; /* what it has left */
    steps steps;
    loader_work inputs;
    bool goes_up;     /* to a device */
} built;

static void built_fini(built *b)
{
    loader_work_fini(&b->inputs);
    trainable_fini(&b->moving);
    variants_fini(&b->variants);
}

/* Of all that computes on this machine. */
static status measure_host(const config *c, const shape *s, backend_choice device, built *b,
                           error *err)
{
    const worker_memory one = {.config = c,
                               .variants = &b->variants,
                               .device = device,
                               .n_lanes = s->lanes,
                               .n_readers = s->readers,
                               .n_servers = s->ps,
                               .servers = s->servers_here};
    TRY(optim_memory(c, b->variants.flat, &b->room, err));
    TRY(worker_memory_of(&one, b->variants.shapes[0].examples, &b->needed, err));
    b->needed *= (size_t)s->here;
    return budget_left(&b->host, err);
}

static status dryrun_build(const devices *d, const shape *s, built *b, error *err)
{
    const config *c = d->config;
    TRY(variants_build(c, &b->variants, err));
    const steps_kinds kinds = variants_kinds(&b->variants);
    b->steps = training_steps(c, dataset_examples(b->variants.data), &kinds, s->batches_per_step);
    backend_choice device;
    TRY(devices_of_lane(d, 0, &device, err));
    exec_options options = {
        .backend = device.ops,
        .device = device.options,
        .flat = b->variants.flat,
        .graphs = (const graph *const *)b->variants.graphs,
        .n_graphs = b->variants.n,
        .examples = b->variants.shapes[0].examples,
        .sum_level = training_sum_level(c, (int64_t)s->lanes * (s->workers > 0 ? s->workers : 1)),
        .budget = training_memory(c),
    };
    TRY(exec_measure(&options, &b->memory, err));
    loader_options reading = variants_loader(c, &b->variants, s->readers);
    inputs_leave(device.ops, &reading);
    loader_work_of(&reading, &b->inputs);
    b->goes_up = reading.bytes;
    return measure_host(c, s, device, b, err);
}

static json_t *parameters(const flat *f)
{
    int64_t n[3] = {0, 0, 0};
    for (int32_t i = 0; i < f->n_tensors; i++)
        n[f->tensors[i].kind] += f->count[i];
    return json_pack("{s:I, s:I, s:I, s:I, s:i}", "trainable", (json_int_t)n[TENSOR_TRAINABLE],
                     "state", (json_int_t)n[TENSOR_STATE], "frozen", (json_int_t)n[TENSOR_FROZEN],
                     "total", (json_int_t)(n[0] + n[1] + n[2]), "tensors", f->n_tensors);
}

static json_t *moving_list(const trainable *m)
{
    json_t *list = json_array();
    for (size_t i = 0; i < m->n; i++) {
        const trainable_row *row = &m->rows[i];
        json_t *names = json_array();
        for (size_t k = 0; k < row->n_names; k++)
            json_array_append_new(names, json_string(row->names[k]));
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:s, s:b, s:o}", "what", row->what,
                                              "tensors", (json_int_t)row->n_tensors, "elements",
                                              (json_int_t)row->n_elements, "why", row->why, "guess",
                                              (int)row->is_guess, "names", names));
    }
    return list;
}

static json_t *lane_memory(exec_memory m)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "param", (json_int_t)m.param, "grad",
                     (json_int_t)m.grad, "io", (json_int_t)m.io, "temp", (json_int_t)m.temp,
                     "constant", (json_int_t)m.constant, "workspace", (json_int_t)m.workspace,
                     "sums", (json_int_t)m.sums, "total", (json_int_t)exec_memory_total(&m));
}

/* A server keeps two versions of the weights and the optimizer's state, but of frozen parts one; of
 * the server before it in the ring too, where it stands by; and what its steps work in. */
static json_t *servers(const flat *f, int n_servers, size_t slots, size_t room, bool copies)
{
    int32_t *server = xcalloc((size_t)f->n_parts + 1, sizeof *server);
    placement_deal(f, n_servers, server);
    json_t *list = json_array();
    for (int i = 0; i < n_servers; i++) {
        int64_t parts = 0, bytes = 0, idle = (int64_t)room, standby = 0;
        for (int32_t p = 0; p < f->n_parts; p++) {
            bool stands_by = copies && n_servers > 1 && (server[p] + 1) % n_servers == i;
            if (server[p] != i && !stands_by)
                continue;
            int64_t own = flat_part_elements(f, p) * FLOAT;
            parts += !stands_by;
            standby += stands_by;
            bytes += stands_by ? 0 : own;
            idle += f->parts[p].frozen ? own : own * (int64_t)(2 + slots);
        }
        json_array_append_new(list, json_pack("{s:I, s:I, s:I, s:I}", "parts", (json_int_t)parts,
                                              "bytes", (json_int_t)bytes, "standby_parts",
                                              (json_int_t)standby, "idle_memory", (json_int_t)idle));
    }
    free(server);
    return list;
}

/* "flip, shift" or null */
static json_t *words(const buf *b)
{
    return b->size ? json_string(b->data) : json_null();
}

static json_t *inputs_of(const built *b)
{
    return json_pack("{s:o, s:o, s:o}", "bytes_up", b->goes_up ? json_integer((json_int_t)b->inputs.up) : json_null(),
                     "on_device", words(&b->inputs.device), "on_host", words(&b->inputs.host));
}

static json_t *dryrun_report(const config *c, const shape *s, const built *b)
{
    const steps *st = &b->steps;
    double flops = graph_flops(b->variants.graphs[0]) / (double)b->variants.shapes[0].examples;
    const optim moved_by = optim_settings(c);
    json_t *r = json_object();
    json_object_set_new(r, "parameters", parameters(b->variants.flat));
    json_object_set_new(r, "moving", moving_list(&b->moving));
    json_object_set_new(r, "flops_per_example", json_real(flops));
    json_object_set_new(r, "memory_per_lane", lane_memory(b->memory));
    json_object_set_new(r, "inputs", inputs_of(b));
    json_object_set_new(r, "recomputed", recomputed_json(&b->memory, training_memory(c)));
    json_object_set_new(r, "host_memory",
                        json_pack("{s:I, s:o, s:s}", "needed", (json_int_t)b->needed, "left",
                                  b->host.left < SIZE_MAX ? json_integer((json_int_t)b->host.left)
                                                          : json_null(),
                                  "left_by", b->host.origin));
    json_object_set_new(r, "cluster",
                        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "workers", s->workers, "ps", s->ps,
                                  "evaluators", s->evaluators, "lanes_per_worker", s->lanes,
                                  "threads_per_lane", s->threads, "readers_per_lane", s->readers));
    json_object_set_new(r, "parts", json_integer(b->variants.flat->n_parts));
    json_object_set_new(r, "servers", servers(b->variants.flat, s->ps > 0 ? s->ps : 1, optim_slots(&moved_by), b->room,
                                              config_int(c, "distributed.ps_replicas")));
    json_object_set_new(r, "steps",
                        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "examples",
                                  (json_int_t)st->examples, "batch_size",
                                  (json_int_t)st->batch_size, "batches_per_step",
                                  (json_int_t)st->per_step, "effective_batch_size",
                                  (json_int_t)(st->batch_size * st->per_step), "per_epoch",
                                  (json_int_t)steps_per_epoch(st), "epochs",
                                  (json_int_t)config_int(c, "trainer.num_epochs"), "total",
                                  (json_int_t)training_total(st, c)));
    return r;
}

static long long number(const json_t *r, const char *section, const char *key)
{
    return json_integer_value(json_object_get(json_object_get(r, section), key));
}

static void print_moving(const trainable *m)
{
    buf line = BUF_INIT;
    for (size_t i = 0; i < m->n; i++) {
        buf_clear(&line);
        trainable_row_text(&m->rows[i], &line);
        printf("  %-22s %s\n", m->rows[i].what, line.data);
    }
    buf_fini(&line);
}

static void print_memory(const json_t *r)
{
    const char *slab;
    json_t *bytes;
    char text[SIZE_TEXT];
    printf("memory per lane\n");
    json_object_foreach(json_object_get(r, "memory_per_lane"), slab, bytes)
        printf("  %-22s %12s\n", slab, size_text(json_number_value(bytes), text));
}

static void print_recomputed(const json_t *r)
{
    buf line = BUF_INIT;
    recomputed_text(json_object_get(r, "recomputed"), &line);
    printf("%s", line.size ? line.data : "");
    buf_fini(&line);
}

/* Where there is a device. */
static void print_inputs(const json_t *r)
{
    char text[SIZE_TEXT];
    const json_t *made = json_object_get(r, "inputs"), *up = json_object_get(made, "bytes_up");
    const char *there = json_string_value(json_object_get(made, "on_device"));
    const char *here = json_string_value(json_object_get(made, "on_host"));
    if (json_is_integer(up))
        printf("an example goes up in    %12s  (changed there: %s; on the host: %s)\n",
               size_text(json_number_value(up), text), there ? there : "nothing", here ? here : "nothing");
}

static void print_host(const json_t *r)
{
    char text[SIZE_TEXT];
    const json_t *host = json_object_get(r, "host_memory"), *left = json_object_get(host, "left");
    double needed = json_number_value(json_object_get(host, "needed"));
    printf("host memory              %12s", size_text(needed, text));
    if (json_is_integer(left))
        printf("  (of %s left: %s)", size_text(json_number_value(left), text),
               json_string_value(json_object_get(host, "left_by")));
    printf("%s\n", json_is_integer(left) && needed > json_number_value(left)
                       ? ": it does not fit, and would be refused"
                       : "");
}

static void print_servers(const json_t *r)
{
    size_t i;
    json_t *server;
    char held[SIZE_TEXT], idle[SIZE_TEXT];
    printf("parts                    %12lld\n",
           (long long)json_integer_value(json_object_get(r, "parts")));
    json_array_foreach(json_object_get(r, "servers"), i, server)
    {
        size_text(json_number_value(json_object_get(server, "bytes")), held);
        size_text(json_number_value(json_object_get(server, "idle_memory")), idle);
        printf("  server %-3zu %4lld parts, %s of weights, %s of memory when idle", i,
               (long long)json_integer_value(json_object_get(server, "parts")), held, idle);
        long long standby = json_integer_value(json_object_get(server, "standby_parts"));
        if (standby)
            printf(", with copies of %lld part%s", standby, standby == 1 ? "" : "s");
        printf("\n");
    }
}

static void print_report(const json_t *r, const trainable *m)
{
    printf("parameters               %12lld  (trainable %lld, state %lld, frozen %lld)\n",
           number(r, "parameters", "total"), number(r, "parameters", "trainable"),
           number(r, "parameters", "state"), number(r, "parameters", "frozen"));
    print_moving(m);
    printf("FLOPs per example        %12.0f  (forward and backward)\n",
           json_number_value(json_object_get(r, "flops_per_example")));
    print_memory(r);
    print_recomputed(r);
    print_inputs(r);
    print_host(r);
    print_servers(r);
    printf("tasks                     1 master, %lld workers, %lld servers, %lld evaluators; %lld "
           "lanes of %lld threads each, which %lld more read data for\n",
           number(r, "cluster", "workers"), number(r, "cluster", "ps"),
           number(r, "cluster", "evaluators"), number(r, "cluster", "lanes_per_worker"),
           number(r, "cluster", "threads_per_lane"), number(r, "cluster", "readers_per_lane"));
    printf("effective batch size     %12lld  (%lld examples x %lld batches per step)\n",
           number(r, "steps", "effective_batch_size"), number(r, "steps", "batch_size"),
           number(r, "steps", "batches_per_step"));
    printf("steps                    %12lld  (%lld per epoch of %lld examples)\n",
           number(r, "steps", "total"), number(r, "steps", "per_epoch"),
           number(r, "steps", "examples"));
}

static void print_json(const json_t *r)
{
    char *text = json_dumps(r, JSON_INDENT(2));
    puts(text);
    free(text);
}

status dryrun_print(const devices *d, const shape *s, bool as_json, error *err)
{
    built b = {.moving = {.n = 0}};
    status st = dryrun_build(d, s, &b, err);
    if (st == OK)
        st = variants_moving(d->config, &b.variants, &b.moving, err);
    if (st == OK) {
        variants_warn(d->config, &b.variants);
        json_t *r = dryrun_report(d->config, s, &b);
        if (as_json)
            print_json(r);
        else
            print_report(r, &b.moving);
        json_decref(r);
    }
    built_fini(&b);
    return st;
}
