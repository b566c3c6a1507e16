#include "cli/roles/faults.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

static status read_life(int *ret, error *err)
{
    const char *text = getenv("TEQUIO_FAULT_LIFE");
    *ret = 1;
    if (!text || !*text)
        return OK;
    char *end;
    long life = strtol(text, &end, 10);
    if (*end || life < 1 || life > INT32_MAX)
        return FAIL(err, E_USAGE,
                    "TEQUIO_FAULT_LIFE: '%s': expected 1 for a task's first life, 2 "
                    "for its second, and so on",
                    text);
    *ret = (int)life;
    return OK;
}

status process_faults_read(const char *flag, process_faults *ret, error *err)
{
    const char *variable = getenv("TEQUIO_FAULT");
    *ret = (process_faults){.text = flag ? flag : variable && *variable ? variable : NULL};
    if (!ret->text)
        return OK;
    TRYF(fault_plan_parse(ret->text, &ret->plan, err), err, "%s",
         flag ? "--fault" : "TEQUIO_FAULT");
    return read_life(&ret->life, err);
}

void process_faults_fini(process_faults *r)
{
    for (size_t i = 0; i < r->n; i++)
        fault_end(&r->faults[i]);
    fault_plan_destroy(&r->plan);
}

static int count_of(const shape *s, role r)
{
    switch (r) {
    case ROLE_WORKER:
        return s->workers ? s->workers : 1;
    case ROLE_PS:
        return s->ps ? s->ps : 1;
    default:
        return 1; /* without an evaluator's task the master's process evaluates */
    }
}

status process_faults_check(const process_faults *r, const shape *s, error *err)
{
    for (size_t i = 0; r->plan && i < r->plan->n; i++) {
        const fault_clause *c = &r->plan->clauses[i];
        const char *name = role_name(c->task.role);
        int n = count_of(s, c->task.role);
        if (c->task.index >= n)
            return FAIL(err, E_USAGE,
                        "--fault: '%s': there is no %s.%d; this job has %s.0 to %s.%d", c->text,
                        name, (int)c->task.index, name, name, n - 1);
    }
    return OK;
}

status process_faults_of(process_faults *r, task who, fault **ret, error *err)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->tasks[i].role == who.role && r->tasks[i].index == who.index) {
            *ret = r->faults[i];
            return OK;
        }
    BUG_ON(r->n == PROCESS_FAULTS_TASKS);
    TRY(fault_begin(r->plan, who, r->life, ret, err));
    r->tasks[r->n] = who;
    r->faults[r->n++] = *ret;
    return OK;
}
