/* `tequio bench`: measures this machine with the product's own code paths. */
#include "cli/bench/data.h"
#include "cli/bench/devices.h"
#include "cli/bench/gradients.h"
#include "cli/bench/lane.h"
#include "cli/bench/load.h"
#include "cli/bench/net.h"
#include "cli/bench/nodes.h"
#include "cli/bench/step.h"
#include "cli/commands.h"
#include "common/base/alloc.h"

#include <stdio.h>
#include <string.h>

typedef struct verb {
    const char *name;
    status (*run)(const args *a, error *err);
} verb;

static const verb verbs[] = {
    {"net", bench_net_run}, {"step", bench_step_run}, {"devices", bench_devices_run},
    {"nodes", bench_nodes_run}, {"gradients", bench_gradients_run}, {"data", bench_data_run}};

#define ALL     "All"
#define BOTH    "bench net, bench step and bench data"
#define NET     "bench net"
#define STEP    "bench step"
#define STEP_DATA "bench step and bench data"
#define MODEL   "bench devices, bench nodes and bench gradients"
#define CONFIG  "bench devices, bench nodes, bench gradients and bench data"
#define TIMED   "bench devices, bench nodes and bench data"
#define NEAR    "bench gradients"

static bool is_of(const flag *f, const char *word)
{
    char name[32];
    snprintf(name, sizeof name, "bench %s", word);
    return strcmp(f->group, ALL) == 0 || strstr(f->group, name);
}

/* A flag of another verb is a mistake, not a wish to be ignored; a configuration is for those that train one. */
static status check_flags(const args *a, const char *word, error *err)
{
    for (size_t i = 0; i < a->command->n_flags; i++) {
        const flag *f = &a->command->flags[i];
        if (a->values[i] && !is_of(f, word))
            return FAIL(err, E_USAGE, "bench %s: --%s is of '%s'", word, f->name, f->group);
    }
    bool takes_config = strcmp(word, "net") != 0 && strcmp(word, "step") != 0;
    if (takes_config && a->n_operands < 2)
        return FAIL(err, E_USAGE, "bench %s: CONFIG is missing: what is to be trained", word);
    if (!takes_config && a->n_operands > 1)
        return FAIL(err, E_USAGE, "bench %s: '%s' is one operand too many", word, a->operands[1]);
    return OK;
}

static int run_bench(const args *a, error *err)
{
    const char *word = a->operands[0];
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (strcmp(word, verbs[i].name) != 0)
            continue;
        status st = check_flags(a, word, err);
        return status_exit_code(st == OK ? verbs[i].run(a, err) : st);
    }
    return status_exit_code(FAIL(err, E_USAGE, "bench: '%s': must be net, step, devices, nodes, gradients or data",
                                 word));
}

static const flag bench_flags[] = {
    {"rounds", 0, FLAG_COUNT, "N", BOTH, "How often everything is measured; medians count. 5.", 1,
     1000},
    {"json", 0, FLAG_SWITCH, NULL, ALL, "Print JSON.", 0, 0},
    {"what", 0, FLAG_TEXT, "LIST", NET, "Any of push,pull,pushpull; all of them.", 0, 0},
    {"bytes", 0, FLAG_TEXT, "LIST", NET, "Sizes of a part; 64K,1M,4M.", 0, 0},
    {"workers", 0, FLAG_COUNT, "N", NET, "Worker processes. 1.", 1, BENCH_WORKERS},
    {"ps", 0, FLAG_COUNT, "N", NET, "Parameter servers, a process each. 1.", 1, BENCH_SERVERS},
    {"curve", 0, FLAG_SWITCH, NULL, NET, "Encrypt, as between hosts.", 0, 0},
    {"replicas", 0, FLAG_SWITCH, NULL, NET,
     "Alternate with servers that have standbys; of two servers and pushpull, 1M,4M.", 0, 0},
    {"shared", 0, FLAG_SWITCH, NULL, NET, "Alternate with payloads in shared memory.", 0, 0},
    {"seconds", 0, FLAG_COUNT, "N", NET, "How long one measurement takes. 1.", 1, 3600},
    {"model", 0, FLAG_CHOICE, BENCH_MODELS, STEP, "What is trained; mlp.", 0, 0},
    {"threads", 0, FLAG_COUNT, "N", STEP_DATA, "Threads: of the lane, 1; that read, so many alone.", 1, 4096},
    {"batch", 0, FLAG_COUNT, "N", STEP, "Examples in a batch; the model's own, 256 of mlp.", 1,
     1 << 20},
    {"precision", 0, FLAG_CHOICE, "f32|bf16", STEP, "Of the products; f32.", 0, 0},
    {"optimizer", 0, FLAG_CHOICE, "sgd|adamw", STEP, "What updates the weights; sgd.", 0, 0},
    {"steps", 0, FLAG_COUNT, "N", STEP, "Steps that are timed, each round. 10.", 1, 1 << 20},
    {"warmup", 0, FLAG_COUNT, "N", STEP, "Steps before them. 3.", 0, 1 << 20},
    {"peer", 0, FLAG_TEXT, "COMMAND", STEP,
     "Alternate with this command, which measures the same and prints JSON.", 0, 0},
    {"samples", 0, FLAG_COUNT, "N", TIMED, "Batches that are timed, on a device or by a thread. 10.", 1, 1 << 20},
    {"device", 0, FLAG_TEXT, "NAME", MODEL, "This one alone: cpu, cuda:0. Of nodes and gradients the CPU.", 0, 0},
    {"against", 0, FLAG_TEXT, "NAME", NEAR,
     "What is held against: a device, or own, the default of a GPU: our kernels there, without libraries.", 0, 0},
    {"overrides", 'o', FLAG_TEXT, "JSON", CONFIG, "A jsonnet object laid over the configuration.", 0, 0},
};

const command command_bench = {
    .name = "bench",
    .operands = "net|step|devices|nodes|gradients|data [CONFIG]",
    .min_operands = 1,
    .max_operands = 2,
    .summary = "Measure this machine: the network path, a training step, its devices, a step's kernels, or its data.",
    .about = "net: goodput of push, pull and both at once between workers and parameter servers, "
             "all of them processes on loopback, in rounds that alternate with iperf3 where it is "
             "installed.\n\n"
             "step: examples per second of forward, backward and update on one lane.\n\n"
             "devices: examples per second of forward and backward of the configured model on its own "
             "data, on the CPU with all its threads and on each GPU, with the memory that takes, the "
             "largest batch that would fit, and which device to choose. Each is tried in a process of "
             "its own. Idle is the share of the time in which a GPU was at no segment of the model, "
             "MFU the model's FLOPs a second beside those that large products reach on the device "
             "in the same precision.\n\n"
             "nodes: milliseconds of each kernel of a step of the configured model on one device, with its "
             "share of all of them, the bytes of its operands and the model's FLOPs a second, and the library "
             "that computes it; by operator, and the kernels that take most, or with --json all. Kernels run "
             "one by one, without CUDA graphs, so of a GPU's small ones a launch is part of the time; each "
             "time is a median over the batches that are timed, behind two that are not.\n\n"
             "gradients: those of one batch of the configured model, on a device twice, whose bits must be the "
             "same, and on another, or on a GPU by our kernels alone, which must be near: by the norm of the "
             "whole gradient within 0.001 in float32 and within 0.05 in other precisions. The exit code is 1 "
             "where they are not.\n\n"
             "data: examples per second of the configured reader on the training data: read, decoded, augmented and "
             "put into batches by 1, 2, 4 and so on threads, or by --threads. Examples of unlike length are padded "
             "to the longest. Beside it how many a lane of the configured model takes if none is waited for.",
    .flags = bench_flags,
    .n_flags = COUNT_OF(bench_flags),
    .needs_passive_waits = true,
    .run = run_bench,
};
