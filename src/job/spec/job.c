#include "job/spec/job.h"

#include "job/spec/schema.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_warn(job *j, arena *memory, const char *format, ...)
{
    if (j->n_warnings == j->cap_warnings) {
        int cap = j->cap_warnings ? 2 * j->cap_warnings : 8;
        const char **wider = arena_alloc(memory, (size_t)cap * sizeof *wider);
        if (j->n_warnings)
            memcpy(wider, j->warnings, (size_t)j->n_warnings * sizeof *wider);
        j->warnings = wider;
        j->cap_warnings = cap;
    }
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    j->warnings[j->n_warnings++] = arena_strdup(memory, text);
}

void job_warn_ignored(void *user, const doc_node *node, const field *f)
{
    job *j = user;
    char where[512];
    document_where(node, where, sizeof where);
    job_warn(j, j->memory, "%s: ignored: %s", where, f->note);
}

int64_t job_tasks(const job *j)
{
    int64_t n = 0;
    for (role r = 0; r < ROLE_COUNT; r++)
        n += j->pools[r].count;
    return n;
}

int64_t job_gpus(const job *j)
{
    int64_t n = 0;
    for (role r = 0; r < ROLE_COUNT; r++)
        n += j->pools[r].count * j->pools[r].gpus;
    return n;
}

status job_scale_down(job *j, const char *shape, error *err)
{
    static const role order[] = {ROLE_MASTER, ROLE_WORKER, ROLE_PS, ROLE_EVALUATOR};
    int64_t counts[ROLE_COUNT] = {0};
    const char *at = shape;
    size_t n = 0;
    for (char *end; n < COUNT_OF(order) && isdigit((unsigned char)*at); at = end + (*end == 'x')) {
        counts[order[n++]] = strtoll(at, &end, 10);
        if (!*end) {
            at = end;
            break;
        }
    }
    if (n < 3 || *at || at[-1] == 'x')
        return FAIL(err, E_USAGE,
                    "--scale-down '%s': must be MASTERxWORKERSxSERVERS, as 1x2x1, and may end with "
                    "xEVALUATORS",
                    shape);
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        int64_t had = j->pools[order[i]].count;
        int64_t wants = i < n ? counts[order[i]] : had;
        if (wants > had || (had && !wants && order[i] != ROLE_EVALUATOR))
            return FAIL(err, E_USAGE,
                        "--scale-down '%s': the job has %" PRId64 " of %s; from %d to as many may stay",
                        shape, had, role_name(order[i]), had != 0);
        j->pools[order[i]].count = wants;
    }
    return OK;
}
