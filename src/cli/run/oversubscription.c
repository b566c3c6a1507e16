#include "cli/run/oversubscription.h"

#include "common/base/thread.h"

#include <stdio.h>

/* Some waits are filled by another task; beyond that they only take turns. */
enum { FOR_A_CPU = 2 };

void oversubscription_warn(int tasks, int training, const char *remedy)
{
    int cpus = thread_cpus();
    if (training > FOR_A_CPU * cpus)
        fprintf(stderr,
                "tequio: %d tasks on the %d CPU%s of this machine: %d of them train, and take turns; %s\n",
                tasks, cpus, cpus == 1 ? "" : "s", training, remedy);
}
