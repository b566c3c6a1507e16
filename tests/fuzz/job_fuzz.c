/* Job files from a stranger: whatever the text, a job that holds together or a refusal with a
 * message. */
#include "support/job_text.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_job(const job *j)
{
    BUG_ON(j->pools[ROLE_MASTER].count != 1 || job_tasks(j) > JOB_TASKS_MOST);
    for (role r = 0; r < ROLE_COUNT; r++) {
        const job_pool *p = &j->pools[r];
        BUG_ON(p->count < 0 || p->gpus < 0 || (p->gpus && p->gpu_type < 0));
        BUG_ON(p->count && !p->machine_type[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena *memory = arena_create();
    job j;
    error err = ERROR_INIT;
    status st = job_of_text((const char *)data, size, memory, &j, &err);
    if (st == OK)
        check_job(&j);
    else
        BUG_ON(!err.text[0]);
    arena_destroy(&memory);
    return 0;
}
