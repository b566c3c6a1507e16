/*
 * `tequio doctor`: what of this machine matters to a run, and whether it will do. A check that
 * fails makes the exit code 1; what is merely absent but optional does not.
 */
#include "backend/cpu/dnnl/shim.h"
#include "backend/cuda/cuda.h"
#include "cli/commands.h"
#include "cli/host/gpus.h"
#include "cli/host/versions.h"
#include "cli/line/size.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/base/thread.h"
#include "job/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define DATASET_DIR "/usr/share/datasets/fashion-mnist"

enum { OPEN_FILES_NEEDED = 256, MEMORY_NEEDED_MB = 256 };

typedef struct check {
    const char *name;
    bool (*look)(buf *ret); /* false: this stands in the way of a run */
} check;

/* The text behind "<key> ... :" in a file of /proc; "" if there is none. */
static void proc_value(const char *path, const char *key, char *ret, size_t bytes)
{
    char line[512];
    ret[0] = 0;
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = 0;
        snprintf(ret, bytes, "%s", colon);
        break;
    }
    if (f)
        fclose(f);
}

/* Arm's processors name none, but the core and who designed it, by numbers. */
static void cpu_model(char *ret, size_t bytes)
{
    static const struct {
        const char *implementer, *part, *name;
    } cores[] = {
        {"0x41", "0xd08", "Arm Cortex-A72"},  {"0x41", "0xd0c", "Arm Neoverse N1"},
        {"0x41", "0xd40", "Arm Neoverse V1"}, {"0x41", "0xd49", "Arm Neoverse N2"},
        {"0x41", "0xd4f", "Arm Neoverse V2"}, {"0x41", "0xd84", "Arm Neoverse V3"},
        {"0x41", "0xd8e", "Arm Neoverse N3"}, {"0x46", "0x001", "Fujitsu A64FX"},
        {"0xc0", "0xac3", "Ampere-1"},
    };
    char implementer[16], part[16];
    proc_value("/proc/cpuinfo", "CPU implementer", implementer, sizeof implementer);
    proc_value("/proc/cpuinfo", "CPU part", part, sizeof part);
    proc_value("/proc/cpuinfo", "model name", ret, bytes);
    if (!*ret && *part)
        snprintf(ret, bytes, "part %s of implementer %s", part, implementer);
    for (size_t i = 0; i < COUNT_OF(cores); i++)
        if (strcmp(cores[i].implementer, implementer) == 0 && strcmp(cores[i].part, part) == 0)
            snprintf(ret, bytes, "%s", cores[i].name);
}

static bool look_cpu(buf *ret)
{
    char model[128];
    cpu_model(model, sizeof model);
    buf_addf(ret, "%s, instruction set %s, %d usable", *model ? model : "unknown model", shim_isa(),
             thread_cpus());
    return true;
}

static bool look_memory(buf *ret)
{
    char total[64], available[64];
    proc_value("/proc/meminfo", "MemTotal", total, sizeof total);
    proc_value("/proc/meminfo", "MemAvailable", available, sizeof available);
    long long mb = atoll(available) / 1024;
    buf_addf(ret, "%lld MB, %lld MB available", atoll(total) / 1024, mb);
    if (mb >= MEMORY_NEEDED_MB)
        return true;
    buf_addf(ret, "; a small cluster needs %d MB", MEMORY_NEEDED_MB);
    return false;
}

static bool look_libraries(buf *ret)
{
    versions_row rows[VERSIONS_MAX];
    size_t n = versions_list(rows);
    for (size_t i = 0; i < n; i++)
        buf_addf(ret, "%s%s %s", i ? ", " : "", rows[i].name, rows[i].version);
    return true;
}

static bool look_waiting(buf *ret)
{
    const char *policy = getenv("OMP_WAIT_POLICY");
    buf_addf(ret, "OMP_WAIT_POLICY is %s", policy ? policy : "unset; train sets it to passive");
    if (policy && strcasecmp(policy, "active") == 0)
        buf_adds(ret, ": waiting threads take the cores from other tasks of this machine");
    return true;
}

static bool look_files(buf *ret)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) {
        buf_adds(ret, "unknown");
        return true;
    }
    buf_addf(ret, "%" PRIuMAX " open at once", (uintmax_t)limit.rlim_cur);
    if (limit.rlim_cur >= OPEN_FILES_NEEDED)
        return true;
    buf_addf(ret, "; needed are %d: ulimit -n %d", OPEN_FILES_NEEDED, OPEN_FILES_NEEDED);
    return false;
}

static bool look_cuda(buf *ret)
{
    const char *built = cuda_build();
    buf_adds(ret, built ? built : "not built in");
    return true;
}

static bool look_dataset(buf *ret)
{
    bool there = fs_exists(DATASET_DIR "/train-images-idx3-ubyte.gz");
    buf_adds(ret, there ? DATASET_DIR : "absent; apt-get install dataset-fashion-mnist");
    return true;
}

static status call_ourselves(error *err)
{
    int fd = -1, port = 0, caller = -1;
    TRY(port_listen(0, "doctor", &fd, &port, err));
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = inet_addr(PORTS_HOST)};
    status st = OK;
    caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (caller < 0 || connect(caller, (struct sockaddr *)&at, sizeof at))
        st = FAIL(err, E_IO, "connect to %s:%d: %s", PORTS_HOST, port, strerror(errno));
    if (caller >= 0)
        close(caller);
    close(fd);
    return st;
}

static bool look_loopback(buf *ret)
{
    error err = ERROR_INIT;
    status st = call_ourselves(&err);
    buf_adds(ret, st == OK ? "sockets on " PORTS_HOST " work" : err.text);
    return st == OK;
}

static bool look_temporary(buf *ret)
{
    const char *dir = getenv("TMPDIR");
    dir = dir && *dir ? dir : "/tmp";
    bool can = access(dir, W_OK | X_OK) == 0;
    buf_addf(ret, "%s %s", dir, can ? "can be written" : "cannot be written");
    return can;
}

static const check checks[] = {
    {"cpu", look_cpu},         {"memory", look_memory},     {"libraries", look_libraries},
    {"waiting", look_waiting}, {"files", look_files},       {"cuda", look_cuda},
    {"dataset", look_dataset}, {"loopback", look_loopback}, {"temporary", look_temporary},
};

/* One finding: a line, or an element of `list`. */
static void tell(json_t *list, bool as_json, const char *name, bool good, const char *text)
{
    if (!as_json)
        printf("%-4s %-10s %s\n", good ? "ok" : "BAD", name, text);
    json_array_append_new(
        list, json_pack("{s:s, s:b, s:s}", "name", name, "ok", (int)good, "text", text));
}

static void describe_gpu(const gpus *g, int i, buf *text)
{
    char memory[SIZE_TEXT], unused[SIZE_TEXT];
    const backend_device *d = &g->at[i];
    if (g->why[i].code != OK)
        buf_addf(text, "absent: %s", g->why[i].text);
    else
        buf_addf(text, "%s, %s, %s, %s of it free%s%s", d->name, d->arch,
                 size_text((double)d->memory, memory), size_text((double)d->free, unused),
                 *cuda_limits(d->arch) ? "; " : "", cuda_limits(d->arch));
}

/* Each, or why there is none; that does not stand in the way of a run on the CPU. */
static void tell_gpus(json_t *list, bool as_json)
{
    gpus *g = xcalloc(1, sizeof *g);
    gpus_look(g);
    for (int i = 0; i < (g->n ? g->n : 1); i++) {
        char name[32];
        buf text = BUF_INIT;
        snprintf(name, sizeof name, "cuda:%d", i);
        describe_gpu(g, i, &text);
        tell(list, as_json, name, true, text.data);
        buf_fini(&text);
    }
    free(g);
}

/* The libraries of the GPU; each may be absent. */
static void tell_cuda_libraries(json_t *list, bool as_json)
{
    cuda_library libraries[CUDA_LIBRARIES_MAX];
    size_t n = cuda_libraries(libraries);
    for (size_t i = 0; i < n; i++) {
        const cuda_library *l = &libraries[i];
        buf text = BUF_INIT;
        if (l->path)
            buf_addf(&text, "%s, %s%s%s", l->version, l->path, *l->limits ? "; " : "", l->limits);
        else
            buf_addf(&text, "absent: %s; %s", l->why, l->instead);
        tell(list, as_json, l->name, true, text.data);
        buf_fini(&text);
    }
}

static void tell_cuda_habits(json_t *list, bool as_json)
{
    cuda_habit habits[CUDA_HABITS_MAX];
    size_t n = cuda_habits(habits);
    for (size_t i = 0; i < n; i++) {
        const cuda_habit *h = &habits[i];
        buf text = BUF_INIT;
        if (h->set)
            buf_addf(&text, "%s, since %s is %s", h->otherwise, h->variable, h->set);
        else
            buf_adds(&text, h->usual);
        tell(list, as_json, h->name, true, text.data);
        buf_fini(&text);
    }
}

static int run_doctor(const args *a, error *err)
{
    bool ok = true, as_json = args_has(a, "json");
    json_t *list = json_array();
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        buf text = BUF_INIT;
        bool good = checks[i].look(&text);
        ok = ok && good;
        tell(list, as_json, checks[i].name, good, text.data);
        buf_fini(&text);
    }
    if (cuda_build()) {
        tell_gpus(list, as_json);
        tell_cuda_libraries(list, as_json);
        tell_cuda_habits(list, as_json);
    }
    json_t *all = json_pack("{s:b, s:o}", "ok", (int)ok, "checks", list);
    if (as_json && json_dumpf(all, stdout, JSON_INDENT(2)) == 0)
        printf("\n");
    json_decref(all);
    if (ok)
        return 0;
    return status_exit_code(FAIL(err, E_FAIL, "doctor: something stands in the way of a run"));
}

static const flag doctor_flags[] = {
    {"json", 0, FLAG_SWITCH, NULL, "What to show", "Print JSON.", 0, 0},
};

const command command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "Tell whether this machine is fit to train on.",
    .about = "Looks at what a run needs of this machine: processor, memory, libraries, limits, "
             "sockets. The exit code is 1 if something stands in the way.",
    .flags = doctor_flags,
    .n_flags = COUNT_OF(doctor_flags),
    .run = run_doctor,
};
