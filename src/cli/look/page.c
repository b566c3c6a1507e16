/* `tequio page`: jobs as a page in a browser, running ones and others side by side. */
#include "cli/commands.h"
#include "cli/look/job_view.h"
#include "cli/look/page_feed.h"
#include "cli/look/page_routes.h"
#include "cli/look/page_token.h"
#include "cli/run/page_price.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/utf8.h"
#include "watch/http/listen.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PEM_MOST = 1 << 20, LOOK_NS = 200 * 1000 * 1000, BEAT_LOOKS = 10 };

/* --- which jobs --- */

/* True: it is time to leave. */
static bool await_job(const char *dir, const sigset_t *leave)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    while (job_view_check(dir, NULL) != OK)
        if (sigtimedwait(leave, NULL, &pause) >= 0)
            return true;
    return false;
}

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

/* --- where --- */

static status open_place(const args *a, http_place *ret, error *err)
{
    char port[16];
    if (args_has(a, "port") && args_has(a, "listen"))
        return FAIL(err, E_USAGE, "--port and --listen exclude each other");
    if (!args_has(a, "certificate") != !args_has(a, "certificate-key"))
        return FAIL(err, E_USAGE, "--certificate and --certificate-key need each other");
    snprintf(port, sizeof port, "%d", (int)args_count(a, "port", 0));
    TRY(http_listen(args_has(a, "listen") ? args_text(a, "listen") : port, ret, err));
    if (ret->is_local || args_has(a, "certificate"))
        return OK;
    status st = FAIL(err, E_CONFIG,
                     "%s can be reached from elsewhere, where others could read along: give --certificate FILE and "
                     "--certificate-key FILE; or serve on 127.0.0.1, and reach it by ssh -L PORT:127.0.0.1:PORT HOST",
                     ret->address);
    http_place_close(ret);
    return st;
}

/* As a browser here or elsewhere can open it. */
static void print_address(const http_place *at, bool speaks_tls, const char *token)
{
    char host[256] = "", address[sizeof host + 16];
    bool is_any = strncmp(at->address, "0.0.0.0:", 8) == 0 || strncmp(at->address, "[::]:", 5) == 0;
    if (is_any && gethostname(host, sizeof host - 1) == 0)
        snprintf(address, sizeof address, "%s:%d", host, at->port);
    else
        snprintf(address, sizeof address, "%s", at->address);
    printf("%s%s://%s/%s%s\n", at->is_given ? "page: " : "", speaks_tls ? "https" : "http", address,
           token ? "#token=" : "", token ? token : "");
    fflush(stdout);
}

/* --- serving --- */

/* Until somebody asks us to leave. */
static void tell_until(const sigset_t *leave, const page_jobs *jobs, http_feed *feed)
{
    const struct timespec pause = {.tv_sec = PAGE_FEED_MS / 1000, .tv_nsec = PAGE_FEED_MS % 1000 * 1000000L};
    for (int looks = 1; sigtimedwait(leave, NULL, &pause) < 0; looks++) {
        page_feed_look(feed, jobs->dirs, jobs->n);
        if (looks % BEAT_LOOKS == 0)
            http_feed_beat(feed);
    }
}

static status serve_at(const args *a, page_jobs *jobs, const http_place *at, const sigset_t *leave, error *err)
{
    char text[JOBKEY_TEXT];
    const char *token = NULL;
    buf certificate = BUF_INIT, key = BUF_INIT;
    http_server *server = NULL;
    http_feed *feed = page_feed_new(jobs->n);
    status st = OK;
    if (args_has(a, "certificate")) {
        TRY_OUT(st, fs_read(args_text(a, "certificate"), PEM_MOST, &certificate, err));
        TRY_OUT(st, fs_read(args_text(a, "certificate-key"), PEM_MOST, &key, err));
    }
    if (!at->is_local || args_has(a, "token-file")) {
        TRY_OUT(st, page_token_choose(args_text(a, "token-file"), jobs->dirs, jobs->n, text, err));
        token = text;
    }
    st = http_server_start(&(http_options){.fd = at->fd,
                                           .port = at->port,
                                           .handler = page_answer,
                                           .user = jobs,
                                           .feed = feed,
                                           .token = token,
                                           .certificate = certificate.data,
                                           .key = key.data},
                           &server, err);
    if (key.data)
        jobkey_wipe(key.data, key.size);
    if (st != OK)
        goto out;
    print_address(at, certificate.data, token);
    tell_until(leave, jobs, feed);
    http_server_stop(&server);
out:
    http_feed_free(&feed);
    jobkey_wipe(text, sizeof text);
    buf_fini(&certificate);
    buf_fini(&key);
    return st;
}

static status serve(const args *a, char **dirs, error *err)
{
    http_place at = HTTP_NOWHERE;
    sigset_t leave;
    sigemptyset(&leave);
    sigaddset(&leave, SIGINT);
    sigaddset(&leave, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &leave, NULL);
    double price;
    TRY(page_price_read(a, &price, err));
    TRY(open_place(a, &at, err));
    if (args_has(a, "wait"))
        for (int i = 0; i < a->n_operands; i++)
            if (await_job(a->operands[i], &leave))
                return OK;
    TRY(find_jobs(a, dirs, err));
    page_jobs jobs = {.dirs = dirs, .n = (size_t)a->n_operands, .price_per_hour = price};
    return serve_at(a, &jobs, &at, &leave, err);
}

static int run(const args *a, error *err)
{
    char *dirs[COMMAND_OPERANDS] = {NULL};
    status st = serve(a, dirs, err);
    for (int i = 0; i < a->n_operands; i++)
        free(dirs[i]);
    if (st != OK)
        error_prepend(err, "page");
    return status_exit_code(st);
}

#define WHERE "Where"
#define WHO   "Who may see it"

static const flag flags[] = {
    {"port", 0, FLAG_COUNT, "PORT", WHERE, "Of the loopback interface; any that is free if not given.", 1, 65535},
    {"listen", 0, FLAG_TEXT, "HOST:PORT", WHERE,
     "Anywhere; *:PORT is on all addresses. Off the loopback interface a certificate is needed, and whoever looks "
     "needs the token in the address that is printed. fd:N is a socket that listens already.",
     0, 0},
    {"wait", 0, FLAG_SWITCH, NULL, WHERE, "Begin when the job dirs are there.", 0, 0},
    {"price", 0, FLAG_TEXT, "PRICE", "What is shown",
     "Of all that a job runs on, as 2.1/h: each job's tile says what it has cost, and will.", 0, 0},
    {"token-file", 0, FLAG_PATH, "FILE", WHO,
     "A key as `tequio keygen` makes them: its token is needed, also on the loopback interface. Otherwise, where one "
     "is needed, that of JOB_DIR/key, or a new one.",
     0, 0},
    {"certificate", 0, FLAG_PATH, "FILE", WHO, "Speak TLS with this certificate, in PEM.", 0, 0},
    {"certificate-key", 0, FLAG_PATH, "FILE", WHO, "Its key.", 0, 0},
};

const command command_page = {
    .name = "page",
    .operands = "JOB_DIR...",
    .min_operands = 1,
    .max_operands = COMMAND_OPERANDS,
    .summary = "Show jobs in a browser: curves, tasks, waits, logs, configurations.",
    .about = "Serves a page on this machine's loopback interface, prints its address, and stays until it is "
             "interrupted. Jobs may run, or have ended; the page is told what changes, and lays the curves of several "
             "over each other. It changes nothing, and reads only what lies in the job dirs. From another "
             "machine: ssh -L PORT:127.0.0.1:PORT HOST. Prometheus reads /metrics.\n\n"
             "It needs libmicrohttpd (Debian: libmicrohttpd12) when it runs.",
    .flags = flags,
    .n_flags = COUNT_OF(flags),
    .run = run,
};
