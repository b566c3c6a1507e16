/*
 * `tequio find-batch-size`: the batch that `data_loader.batch_size: "auto"` would be here, for a cluster whose tasks
 * must all be told one.
 */
#include "cli/commands.h"
#include "cli/line/size.h"
#include "cli/run/config_notes.h"
#include "cli/run/input_files.h"
#include "cli/run/model_archive.h"
#include "cli/run/settings.h"
#include "cli/train/batch_size.h"
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/base/thread.h"
#include "job/spec/parameter_names.h"

#include <stdio.h>
#include <stdlib.h>

static status load(const args *a, config **ret, error *err)
{
    arena *memory = arena_create();
    config_source source = {.path = a->operands[0],
                            .overrides = args_text(a, "overrides"),
                            .settings = settings_of(a, NULL, memory),
                            .read_archive = model_archive_config,
                            .takes_auto_batch = true};
    status st = config_load(&source, ret, err);
    arena_destroy(&memory);
    if (st == OK)
        config_notes_log(*ret);
    return st;
}

static status find(const config *c, batch_search *ret, error *err)
{
    devices on;
    shape here;
    TRY(input_files_check(c, err));
    TRY(devices_find(c, true, &on, err));
    TRY(shape_of(c, &(shape_host){.cpus = thread_cpus(), .gpus = on.gpus.n}, &here, err));
    return batch_size_find(c, &on, &here, ret, err);
}

static void print_json(const batch_search *f)
{
    json_t *tries = json_array();
    for (size_t i = 0; i < f->n; i++)
        json_array_append_new(tries, json_pack("{s:I, s:f, s:I}", "batch", (json_int_t)f->tries[i].batch,
                                               "examples_per_s", f->tries[i].examples_per_s, "lane_memory",
                                               (json_int_t)f->tries[i].bytes));
    json_t *all = json_pack("{s:I, s:s, s:o, s:s, s:I}", "batch_size", (json_int_t)f->chosen, "device", f->device,
                            "tried", tries, "end", f->end, "step_examples", (json_int_t)f->step_examples);
    char *text = json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    puts(text);
    free(text);
    json_decref(all);
}

static void print_table(const batch_search *f)
{
    char text[SIZE_TEXT];
    printf("   batch  examples/s  memory of a lane, %s\n", f->device);
    for (size_t i = 0; i < f->n; i++)
        printf("%8lld  %10.0f  %16s%s\n", (long long)f->tries[i].batch, f->tries[i].examples_per_s,
               size_text((double)f->tries[i].bytes, text), f->tries[i].batch == f->chosen ? "  <" : "");
    printf("%s\n\ndata_loader.batch_size: %lld, with which a step takes %lld examples\n", f->end, (long long)f->chosen,
           (long long)f->step_examples);
}

static int run_find_batch_size(const args *a, error *err)
{
    config *c = NULL;
    batch_search found;
    status st = load(a, &c, err);
    if (st == OK)
        st = find(c, &found, err);
    if (st == OK)
        (args_has(a, "json") ? print_json : print_table)(&found);
    if (st == OK)
        batch_size_warn(c, &found);
    config_destroy(&c);
    return status_exit_code(st);
}

static const flag find_batch_size_flags[] = {
    {"overrides", 'o', FLAG_TEXT, "JSON", "Configuration",
     "Values that replace those of CONFIG: an object, nested or with dotted keys.", 0, 0},
    {"json", 0, FLAG_SWITCH, NULL, "What to show", "JSON.", 0, 0},
};

const command command_find_batch_size = {
    .name = "find-batch-size",
    .operands = "CONFIG",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Find a batch size: the smallest that is about as fast as any that fits into memory.",
    .about = "Tries powers of two from 8 on, those that fit into the host's memory by the plans that 'tequio train "
             "--dry-run' shows, and into a GPU's as one lane finds there, and measures the examples a second that a "
             "lane computes, until two in a row are no faster or an epoch would have less than 10 steps. The number is "
             "the smallest within 5% of the fastest: what "
             "data_loader.batch_size: \"auto\" would be in a job on this machine, whatever CONFIG says there. All "
             "tasks of a cluster must be given the same.\n\n"
             "Keys of the configuration are flags too, as of 'tequio train': --distributed.workers 2.",
    .flags = find_batch_size_flags,
    .n_flags = COUNT_OF(find_batch_size_flags),
    .key_of = parameter_key,
    .near_key = parameter_near,
    .needs_passive_waits = true,
    .run = run_find_batch_size,
};
