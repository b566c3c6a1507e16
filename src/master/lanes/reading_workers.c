#include "master/lanes/reading_workers.h"

#include "common/base/alloc.h"
#include "master/lanes/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void reading_workers_fini(reading_workers *r)
{
    free(r->at);
    *r = (reading_workers){.at = NULL};
}

static reading_worker *find(reading_workers *r, const Wire__Hello *hello)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].trainer == (hello->trainer != 0) && r->at[i].index == hello->index)
            return &r->at[i];
    return NULL;
}

static void forget(reading_workers *r, reading_worker *one)
{
    *one = r->at[--r->n];
}

static void note(reading_workers *r, reading_worker *one, const Wire__Hello *hello, const net_message *message,
                 int64_t now_us)
{
    if (one->life != hello->life || one->state.moves != hello->moves)
        one->moved_us = r->moved_us = now_us;
    one->life = hello->life;
    one->peer = message->from;
    one->connection = message->connection;
    one->state.moves = hello->moves;
    snprintf(one->state.text, sizeof one->state.text, "%s", hello->reads);
    snprintf(one->host, sizeof one->host, "%s", hello->host);
}

bool reading_workers_hello(reading_workers *r, const Wire__Hello *hello, const net_message *message, int64_t now_us)
{
    reading_worker *one = find(r, hello);
    bool reads = hello->reads[0] != '\0';
    if (one && !reads)
        forget(r, one);
    if (!reads)
        return false;
    if (!one && r->n < MEMBERS_MAX) { /* as for members: what it makes us keep has an end */
        GROW(r->at, r->cap, r->n + 1);
        one = &r->at[r->n++];
        *one = (reading_worker){.trainer = hello->trainer, .index = hello->index};
    }
    if (one)
        note(r, one, hello, message, now_us);
    return true;
}

void reading_workers_lost(reading_workers *r, int connection)
{
    for (size_t i = r->n; connection >= 0 && i-- > 0;)
        if (r->at[i].connection == connection)
            forget(r, &r->at[i]);
}

double reading_workers_absence_s(const reading_workers *r, int64_t since_us, int64_t now_us)
{
    return (double)(now_us - (r->moved_us > since_us ? r->moved_us : since_us)) * 1e-6;
}

const char *reading_worker_name(const reading_worker *one, char buffer[TASK_NAME])
{
    task t = {.role = one->trainer ? ROLE_MASTER : ROLE_WORKER, .index = (int32_t)one->index};
    return task_name(t, buffer);
}
