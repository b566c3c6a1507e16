#include "job/docker/compose.h"

#include "common/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

/* Where a container finds NVIDIA's libraries, by number. */
#define LIBRARIES "/opt/nvidia/"

/* --- who is who --- */

static const job_pool *pool_of(const compose_options *o, const roster_task *t)
{
    return &o->job->pools[t->task.role];
}

/* GPUs that a task gets of those that it asks for, when `n` tasks ask. */
static int share(const compose_options *o, int64_t asked, int n)
{
    int64_t even = o->gpus / n > 0 ? o->gpus / n : 1;
    return (int)(job_gpus(o->job) <= o->gpus || asked < even ? asked : even);
}

static void deal_gpus(const compose_options *o, roster *s)
{
    int n = 0, next = 0;
    for (int i = 0; i < s->n; i++)
        n += pool_of(o, &s->tasks[i])->gpus > 0;
    for (int i = 0; o->gpus && i < s->n; i++) {
        roster_task *t = &s->tasks[i];
        if (pool_of(o, t)->gpus == 0)
            continue;
        t->first_gpu = next % o->gpus;
        t->gpus = share(o, pool_of(o, t)->gpus, n);
        next += t->gpus;
    }
}

void compose_plan(const compose_options *o, arena *memory, roster *ret)
{
    roster_plan(&o->shape, ret);
    for (int i = 0; i < ret->n; i++) {
        roster_task *t = &ret->tasks[i];
        t->host = arena_printf(memory, "%s-%d", role_name(t->task.role), (int)t->task.index);
        t->port = o->shape.start_port;
    }
    deal_gpus(o, ret);
}

/* --- the file --- */

static bool has_controls(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return true;
    return false;
}

/* In quotes of YAML, where Compose finds no variables. */
static void add_text(buf *b, const char *text)
{
    bool is_double = has_controls(text);
    const char *quote = is_double ? "\"" : "'";
    buf_adds(b, quote);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            buf_addf(b, "\\x%02x", (unsigned char)*c);
        else if (*c == '$' || *c == *quote || (is_double && *c == '\\'))
            buf_addf(b, "%c%c", is_double && *c != '$' ? '\\' : *c, *c);
        else
            buf_add(b, c, 1);
    buf_adds(b, quote);
}

static void add_texts(buf *b, const char *const *texts)
{
    buf_adds(b, "[");
    for (int i = 0; texts[i]; i++) {
        buf_adds(b, i ? ", " : "");
        add_text(b, texts[i]);
    }
    buf_adds(b, "]\n");
}

static void add_mount(buf *b, const char *source, const char *target, bool is_written)
{
    buf_adds(b, "    - {type: bind, source: ");
    add_text(b, source);
    buf_adds(b, ", target: ");
    add_text(b, target);
    buf_adds(b, is_written ? "}\n" : ", read_only: true}\n");
}

/* What the services refer to. */
static void add_common(const compose_options *o, buf *b)
{
    char place[32];
    buf_adds(b, "x-tequio:\n  command: &command ");
    add_texts(b, o->arguments);
    buf_adds(b, "  volumes: &volumes\n");
    add_mount(b, o->job_dir, o->job_dir, true);
    for (int i = 0; o->reads[i]; i++)
        add_mount(b, o->reads[i], o->reads[i], false);
    for (int i = 0; o->libraries[i]; i++) {
        snprintf(place, sizeof place, LIBRARIES "%d", i);
        add_mount(b, o->libraries[i], place, false);
    }
}

/* NAME, and the value in whatever pieces it has. */
static void add_variable(buf *b, const char *name, const char *value)
{
    char *entry = xasprintf("%s%s", name, value);
    buf_adds(b, "      - ");
    add_text(b, entry);
    buf_adds(b, "\n");
    free(entry);
}

static void add_libraries(const compose_options *o, buf *b)
{
    buf all = BUF_INIT;
    for (int i = 0; o->libraries[i]; i++)
        buf_addf(&all, "%s" LIBRARIES "%d", i ? ":" : "", i);
    if (all.size)
        add_variable(b, "TEQUIO_CUDA_LIBRARIES=", all.data);
    buf_fini(&all);
}

static void compose_add_environment(const compose_options *o, roster *tasks, int i, buf *b)
{
    const roster_task *t = &tasks->tasks[i];
    char *tf_config = roster_tf_config(tasks, i);
    buf_adds(b, "    environment:\n");
    for (int k = 0; k < o->job->n_environment; k++)
        add_variable(b, "", o->job->environment[k]);
    add_variable(b, "TF_CONFIG=", tf_config);
    free(tf_config);
    for (int k = 0; o->environment[k]; k++)
        add_variable(b, "", o->environment[k]);
    if (o->key_file)
        add_variable(b, "TEQUIO_KEY_FILE=", "/run/secrets/key");
    if (t->gpus > 0)
        add_variable(b, "TEQUIO_OWN_GPUS=", "1");
    if (t->gpus > 0 && !pool_of(o, t)->image)
        add_libraries(o, b);
}

static void add_gpus(const compose_options *o, const roster_task *t, buf *b)
{
    buf_adds(b, "    deploy:\n"
                "      resources:\n"
                "        reservations:\n"
                "          devices:\n"
                "            - {driver: nvidia, capabilities: [gpu], device_ids: [");
    for (int k = 0; k < t->gpus; k++)
        buf_addf(b, "%s'%d'", k ? ", " : "", (t->first_gpu + k) % o->gpus);
    buf_adds(b, "]}\n");
}

static void compose_add_service(const compose_options *o, roster *tasks, int i, buf *b)
{
    const roster_task *t = &tasks->tasks[i];
    const char *image = pool_of(o, t)->image;
    buf_addf(b, "  %s:\n    image: ", t->host);
    add_text(b, image ? image : o->image);
    buf_adds(b, "\n    command: *command\n");
    compose_add_environment(o, tasks, i, b);
    buf_adds(b, "    volumes: *volumes\n");
    if (o->key_file)
        buf_adds(b, "    secrets: [key]\n");
    buf_adds(b, "    working_dir: ");
    add_text(b, o->folder);
    buf_addf(b, "\n    user: '%u:%u'\n    init: true\n", o->user, o->group);
    if (t->gpus > 0)
        add_gpus(o, t, b);
}

void compose_file(const compose_options *o, roster *tasks, buf *ret)
{
    buf_addf(ret, "# The job %s, a service a task, by `tequio submit --target compose`.\n",
             o->job->id);
    add_common(o, ret);
    buf_adds(ret, "services:\n");
    for (int i = 0; i < tasks->n; i++)
        compose_add_service(o, tasks, i, ret);
    if (!o->key_file)
        return;
    buf_adds(ret, "secrets:\n  key:\n    file: ");
    add_text(ret, o->key_file);
    buf_adds(ret, "\n");
}
