/* `tequio submit --target compose`: every task is a container that Docker runs on this machine. */
#include "backend/cuda/cuda.h"
#include "cli/run/input_files.h"
#include "cli/run/shape.h"
#include "cli/submit/target.h"
#include "common/base/fs.h"
#include "common/base/thread.h"
#include "job/docker/compose.h"
#include "job/docker/containers.h"
#include "job/docker/image.h"
#include "job/process/subprocess.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

typedef struct compose_target {
    image image;
    input_files input;
    int gpus;
    const char *const *libraries;
    const char *const *environment;
    const char *folder, *job_dir;
} compose_target;

/* --- what there is on this machine --- */

/* NVIDIA's libraries by their folders. */
static const char *const *find_libraries(arena *memory, bool are_used)
{
    cuda_library all[CUDA_LIBRARIES_MAX];
    const char **folders = arena_alloc(memory, (CUDA_LIBRARIES_MAX + 1) * sizeof *folders);
    size_t n = are_used ? cuda_libraries(all) : 0, kept = 0;
    char real[PATH_MAX];
    for (size_t i = 0; i < n; i++) {
        if (!all[i].path || !realpath(all[i].path, real))
            continue;
        *strrchr(real, '/') = '\0';
        size_t same = 0;
        while (same < kept && strcmp(folders[same], real) != 0)
            same++;
        if (same == kept)
            folders[kept++] = arena_strdup(memory, real);
    }
    return folders;
}

static status look(void *user, error *err)
{
    return cuda_look(user, err);
}

static void say_fewer(int64_t asked, int there)
{
    const char *so =
        there ? "those of this machine are shared" : "this machine has none, and the CPU computes";
    fprintf(stderr, "tequio: submit: the job asks for %" PRId64 " GPUs; %s (--gpus)\n", asked, so);
}

/* Also where the configuration names devices: a container has those only that it is given. */
static void find_gpus(const launch *l, compose_target *t)
{
    int64_t asked = job_gpus(&l->request->job);
    cuda_gpus found = {.n = 0};
    if (asked && !args_has(l->args, "gpus") && cuda_has_driver() &&
        subprocess_run(look, &found, &found, sizeof found, NULL) != OK)
        found.visible = 0;
    t->gpus = (int)args_count(l->args, "gpus", found.visible);
    if (t->gpus < asked)
        say_fewer(asked, t->gpus);
    t->libraries = find_libraries(l->request->memory, t->gpus > 0);
}

/* --- what tasks are told --- */

/* They are on one machine, which the names of their hosts do not tell. */
static int lanes_of(const submit_request *o)
{
    const config *c = o->resolved;
    if (config_has(c, "distributed.lanes") || config_has(c, "distributed.cuda_devices"))
        return 0;
    int64_t computing = o->job.pools[ROLE_WORKER].count + shape_master_trains(c);
    int64_t lanes =
        thread_cpus() / (config_int(c, "trainer.threads") * (computing ? computing : 1));
    return lanes > 0 ? (int)lanes : 1;
}

static bool is_for_tasks(const char *entry)
{
    static const char *const ours[] = {"TEQUIO_KEY", "TEQUIO_SET=", "TEQUIO_CUDA_LIBRARIES="};
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (strncmp(entry, ours[i], strlen(ours[i])) == 0)
            return false;
    return strncmp(entry, "TEQUIO_", strlen("TEQUIO_")) == 0 ||
           strncmp(entry, "OMP_NUM_THREADS=", strlen("OMP_NUM_THREADS=")) == 0 ||
           strncmp(entry, "CLOUD_ML_TRIAL_ID=", strlen("CLOUD_ML_TRIAL_ID=")) == 0;
}

static const char *const *target_compose_environment_of(const launch *l, const compose_target *t)
{
    extern char **environ;
    enum { OWN = 2 };
    arena *memory = l->request->memory;
    size_t n = 0, n_all = 0;
    while (environ[n_all])
        n_all++;
    const char **e = arena_alloc(memory, (n_all + OWN) * sizeof *e);
    for (size_t i = 0; i < n_all; i++)
        if (is_for_tasks(environ[i]))
            e[n++] = environ[i];
    if (!t->gpus && lanes_of(l->request))
        e[n++] = arena_printf(memory, "TEQUIO_SET=distributed.lanes=%d", lanes_of(l->request));
    return e;
}

/* The image first: what is opened later does not belong into it. */
static status target_compose_prepare(launch *l, error *err)
{
    arena *memory = l->request->memory;
    compose_target *t = arena_alloc(memory, sizeof *t);
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here))
        return FAIL(err, E_IO, "find this folder: %m");
    t->folder = arena_strdup(memory, here);
    t->job_dir = arena_strndup(memory, l->logs, strlen(l->logs) - strlen("/log"));
    TRY(image_of_this_program(memory, &t->image, err));
    find_gpus(l, t);
    t->environment = target_compose_environment_of(l, t);
    input_files_find(l->request->resolved, memory, &t->input);
    l->own = t;
    return OK;
}

static const char *in_logs(const launch *l, const char *name)
{
    return arena_printf(l->request->memory, "%s/%s", l->logs, name);
}

static compose_options target_compose_options_of(const launch *l, const char *key_file)
{
    const submit_request *o = l->request;
    const compose_target *t = l->own;
    return (compose_options){
        .job = &o->job,
        .shape = target_shape(l, TARGET_FIRST_PORT),
        .image = t->image.name,
        .arguments = submit_request_arguments(o, in_logs(l, "config.json"), false),
        .environment = t->environment,
        .reads = t->input.paths,
        .libraries = t->libraries,
        .folder = t->folder,
        .job_dir = t->job_dir,
        .key_file = key_file,
        .gpus = t->gpus,
        .user = getuid(),
        .group = getgid(),
    };
}

static status plan(const launch *l, roster *ret, error *err)
{
    (void)err;
    compose_options o = target_compose_options_of(l, NULL);
    compose_plan(&o, l->request->memory, ret);
    return OK;
}

static void write_text(const launch *l, const char *key_file, buf *ret)
{
    roster tasks;
    compose_options o = target_compose_options_of(l, key_file);
    compose_plan(&o, l->request->memory, &tasks);
    compose_file(&o, &tasks, ret);
    roster_close(&tasks);
}

/* As it will be; the key's file is made when the job is. */
static status write_file(const launch *l, buf *ret, error *err)
{
    (void)err;
    const compose_target *t = l->own;
    const char *key_file = arena_printf(l->request->memory, "%s/key", t->job_dir);
    write_text(l, l->request->is_secured ? key_file : NULL, ret);
    return OK;
}

/* --- running it --- */

static bool needs_image(const job *j)
{
    bool needs = false;
    for (role r = 0; r < ROLE_COUNT; r++)
        needs = needs || (j->pools[r].count && !j->pools[r].image);
    return needs;
}

/* A file for Docker, by an absolute path. */
static status find_key(const launch *l, const char **ret, error *err)
{
    char *path = NULL, real[PATH_MAX];
    const compose_target *t = l->own;
    if (!l->request->is_secured)
        return OK;
    TRY(keys_find_file(&l->given, l->request->resolved, t->job_dir, &path, err));
    bool found = realpath(path, real);
    status st = found ? OK : FAIL(err, E_IO, "find '%s': %m", path);
    *ret = arena_strdup(l->request->memory, found ? real : "");
    free(path);
    return st;
}

static status write_files(const launch *l, const char *file, error *err)
{
    const char *key_file = NULL;
    const compose_target *t = l->own;
    buf text = BUF_INIT;
    TRY(find_key(l, &key_file, err));
    TRY(fs_write_atomic(in_logs(l, "config.json"), t->input.config, strlen(t->input.config), err));
    write_text(l, key_file, &text);
    status st = fs_write_atomic(file, text.data, text.size, err);
    buf_fini(&text);
    return st;
}

/* Names of Compose's projects are in small letters. */
static const char *name_project(const launch *l)
{
    uint32_t unique;
    while (getrandom(&unique, sizeof unique, 0) != (ssize_t)sizeof unique)
        continue;
    char *name = arena_printf(l->request->memory, "tequio-%s-%08" PRIx32, l->request->job.id, unique);
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return name;
}

static status prepare_run(const launch *l, const char *file, error *err)
{
    const compose_target *t = l->own;
    TRY(containers_check(err));
    if (needs_image(&l->request->job))
        TRY(image_make(&t->image, in_logs(l, "image"), err));
    return write_files(l, file, err);
}

static int target_compose_run(const launch *l, error *err)
{
    const char *file = in_logs(l, "docker-compose.yml");
    roster tasks;
    status st = prepare_run(l, file, err);
    if (st == OK)
        st = plan(l, &tasks, err);
    if (st != OK)
        return status_exit_code(st);
    containers_options options = {
        .tasks = &tasks,
        .file = file,
        .project = name_project(l),
        .log_dir = l->logs,
        .restarts = target_task_restarts(l),
        .limit_ms = (int64_t)(l->request->job.max_running_s * 1000),
        .grace_ms = TARGET_GRACE_MS,
    };
    int code = containers_run(&options, err);
    roster_close(&tasks);
    return code;
}

const target target_compose = {
    .name = "compose",
    .group = TARGET_GROUP("compose"),
    .is_here = true,
    .keeps_files_here = true,
    .prepare = target_compose_prepare,
    .plan = plan,
    .write = write_file,
    .run = target_compose_run,
};
