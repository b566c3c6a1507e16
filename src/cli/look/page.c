/* `tequio page`: jobs as a page in a browser, running ones and others side by side. */
#include "cli/commands.h"
#include "cli/look/job_view.h"
#include "cli/look/page_routes.h"
#include "common/base/alloc.h"
#include "common/base/utf8.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static status find_jobs(const args *a, char **ret_dirs, error *err)
{
    for (int i = 0; i < a->n_operands; i++) {
        TRY(job_view_check(a->operands[i], err));
        ret_dirs[i] = realpath(a->operands[i], NULL);
        if (!ret_dirs[i])
            return FAIL(err, E_IO, "look at '%s': %s", a->operands[i], strerror(errno));
        if (!utf8_valid(ret_dirs[i]))
            return FAIL(err, E_USAGE, "'%s': a page can only name a path that is UTF-8", ret_dirs[i]);
        for (int k = 0; k < i; k++)
            if (strcmp(ret_dirs[k], ret_dirs[i]) == 0)
                return FAIL(err, E_USAGE, "'%s' is named twice", ret_dirs[i]);
    }
    return OK;
}

/* Until somebody asks us to leave; the server's thread has these signals blocked, as it began with them. */
static status serve(const args *a, page_jobs *jobs, error *err)
{
    http_server *server = NULL;
    sigset_t leave;
    int port, signal;
    sigemptyset(&leave);
    sigaddset(&leave, SIGINT);
    sigaddset(&leave, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &leave, NULL);
    TRY(http_server_start((int)args_count(a, "port", 0), page_answer, jobs, &server, &port, err));
    printf("http://127.0.0.1:%d/\n", port);
    fflush(stdout);
    sigwait(&leave, &signal);
    http_server_stop(&server);
    return OK;
}

static int run(const args *a, error *err)
{
    char *dirs[COMMAND_OPERANDS] = {NULL};
    status st = find_jobs(a, dirs, err);
    if (st == OK)
        st = serve(a, &(page_jobs){.dirs = dirs, .n = (size_t)a->n_operands}, err);
    for (int i = 0; i < a->n_operands; i++)
        free(dirs[i]);
    if (st != OK)
        error_prepend(err, "page");
    return status_exit_code(st);
}

static const flag flags[] = {
    {"port", 0, FLAG_COUNT, "PORT", "Where", "Of the loopback interface; any that is free if not given.", 1, 65535},
};

const command command_page = {
    .name = "page",
    .operands = "JOB_DIR...",
    .min_operands = 1,
    .max_operands = COMMAND_OPERANDS,
    .summary = "Show jobs in a browser: curves, tasks, waits, logs, configurations.",
    .about = "Serves a page on this machine's loopback interface, prints its address, and stays until it is "
             "interrupted. Jobs may run, or have ended; the page looks every two seconds, and lays the curves of "
             "several over each other. It changes nothing, and reads only what lies in the job dirs. From another "
             "machine: ssh -L PORT:127.0.0.1:PORT HOST. Prometheus reads /metrics.\n\n"
             "It needs libmicrohttpd (Debian: libmicrohttpd12) when it runs.",
    .flags = flags,
    .n_flags = COUNT_OF(flags),
    .run = run,
};
