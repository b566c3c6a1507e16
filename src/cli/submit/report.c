#include "cli/submit/report.h"

#include "cli/submit/task_table.h"
#include "common/base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *pool_json(const job_pool *p)
{
    json_t *r = json_pack("{s:I, s:s, s:I}", "count", (json_int_t)p->count, "machine",
                          p->machine_type, "gpus", (json_int_t)p->gpus);
    if (p->gpus)
        json_object_set_new(r, "gpu_type", json_string(machines_all()->gpu[p->gpu_type]));
    if (p->machine) {
        json_object_set_new(r, "vcpus", json_real(p->machine->vcpus));
        json_object_set_new(r, "memory_gb", json_real(p->machine->memory_gb));
    }
    if (p->image)
        json_object_set_new(r, "image", json_string(p->image));
    return r;
}

static json_t *tasks_json(roster *tasks)
{
    json_t *list = json_array();
    for (int i = 0; i < tasks->n; i++) {
        char name[TASK_NAME], *tf_config = roster_tf_config(tasks, i);
        json_array_append_new(list, json_pack("{s:s, s:s}", "task",
                                              task_name(tasks->tasks[i].task, name), "TF_CONFIG",
                                              tf_config));
        free(tf_config);
    }
    return list;
}

static json_t *texts(const char *const *list, int n)
{
    json_t *all = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(all, json_string(list[i]));
    return all;
}

static json_t *report(const submit_request *o, roster *tasks)
{
    const job *j = &o->job;
    json_t *r = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "job", j->id, "target", o->target,
                          "scale_tier", j->tier, "tasks", (json_int_t)job_tasks(j), "gpus",
                          (json_int_t)job_gpus(j), "job_dir", j->job_dir);
    json_t *roles = json_object(), *arguments = json_array();
    for (role k = 0; k < ROLE_COUNT; k++)
        if (j->pools[k].count)
            json_object_set_new(roles, role_name(k), pool_json(&j->pools[k]));
    for (int i = 0; o->arguments[i]; i++)
        json_array_append_new(arguments, json_string(o->arguments[i]));
    json_object_set_new(r, "roles", roles);
    json_object_set_new(r, "arguments", arguments);
    json_object_set_new(r, "environment", texts(j->environment, j->n_environment));
    json_object_set_new(r, "cluster", tasks_json(tasks));
    return r;
}

static void print_pool(role r, const job_pool *p)
{
    printf("  %-10s %5" PRId64 "  %s", role_name(r), p->count, p->machine_type);
    if (p->machine)
        printf(", %g vCPUs, %g GB", p->machine->vcpus, p->machine->memory_gb);
    if (p->gpus)
        printf(", %" PRId64 " x %s", p->gpus, machines_all()->gpu[p->gpu_type]);
    printf("\n");
}

static void print_json(json_t *owned)
{
    buf text = BUF_INIT;
    json_pretty(owned, &text);
    fputs(text.data, stdout);
    buf_fini(&text);
    json_decref(owned);
}

static void print_places(const roster *tasks)
{
    buf rows = BUF_INIT;
    task_table_add(tasks, &rows);
    printf("where they are; --json shows the TF_CONFIG of each:\n%s", rows.data);
    buf_fini(&rows);
}

void report_tasks(roster *tasks, bool as_json)
{
    if (as_json)
        print_json(tasks_json(tasks));
    else
        print_places(tasks);
}

static void submit_report_print_text(const submit_request *o, const roster *tasks)
{
    const job *j = &o->job;
    printf("job        %s, %s, for %s\n", j->id, j->tier, o->target);
    printf("tasks      %" PRId64 ", with %" PRId64 " GPUs\n", job_tasks(j), job_gpus(j));
    for (role r = 0; r < ROLE_COUNT; r++)
        if (j->pools[r].count)
            print_pool(r, &j->pools[r]);
    printf("each runs  tequio");
    for (int i = 0; o->arguments[i]; i++)
        printf(" %s", o->arguments[i]);
    printf("\n");
    print_places(tasks);
}

void report_print(const submit_request *o, roster *tasks, bool as_json)
{
    if (as_json)
        print_json(report(o, tasks));
    else
        submit_report_print_text(o, tasks);
}
