#include "cli/bench/iperf.h"

#include "common/base/buf.h"
#include "common/base/json.h"
#include "job/ports.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Starts it with its standard output in a pipe. */
static status iperf_start(char *const *argv, pid_t *ret_pid, FILE **ret_out, error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return FAIL(err, E_FAIL, "a pipe for iperf3: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    int cause = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (cause) {
        close(ends[0]);
        return FAIL(err, E_FAIL, "start iperf3: %s", strerror(cause));
    }
    *ret_out = fdopen(ends[0], "r");
    if (!*ret_out)
        BUG("no stream for a pipe");
    return OK;
}

static int finish(pid_t pid, FILE *out)
{
    int how = 0;
    fclose(out);
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    return how;
}

bool bench_iperf_is_here(void)
{
    char *argv[] = {"iperf3", "--version", NULL};
    pid_t pid;
    FILE *out;
    char line[256];
    if (iperf_start(argv, &pid, &out, NULL) != OK)
        return false;
    while (fgets(line, sizeof line, out))
        ;
    return finish(pid, out) == 0;
}

static status iperf_speed_of(const char *text, size_t bytes, bool both_ways, double *ret, error *err)
{
    /* its --bidir report has a key twice, so it is read with more indulgence than our own files */
    json_t *report = json_loadb(text, bytes, 0, NULL);
    const char *why = json_string_value(json_object_get(report, "error"));
    const json_t *end = json_object_get(report, "end");
    static const char *const sums[] = {"sum_received", "sum_received_bidir_reverse"};
    double bits = 0;
    status st = !report ? FAIL(err, E_FAIL, "iperf3 reports what is no JSON")
                : why   ? FAIL(err, E_FAIL, "iperf3: %s", why)
                        : OK;
    for (int i = 0; st == OK && i < 1 + both_ways; i++) {
        const json_t *sum = json_object_get(end, sums[i]);
        double speed = json_number_value(json_object_get(sum, "bits_per_second"));
        if (speed <= 0)
            st = FAIL(err, E_FAIL, "iperf3 reports no speed as %s", sums[i]);
        bits += speed;
    }
    json_decref(report);
    *ret = bits * 1e-9;
    return st;
}

static status run_client(const char *port, bool both_ways, int seconds, double *ret, error *err)
{
    char time[16];
    snprintf(time, sizeof time, "%d", seconds);
    char *argv[] = {"iperf3",
                    "-c",
                    PORTS_HOST,
                    "-p",
                    (char *)(uintptr_t)port,
                    "-t",
                    time,
                    "-J",
                    both_ways ? "--bidir" : NULL,
                    NULL};
    pid_t pid;
    FILE *out;
    TRY(iperf_start(argv, &pid, &out, err));
    buf text = BUF_INIT;
    char piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof piece, out)) > 0;)
        buf_add(&text, piece, n);
    finish(pid, out);
    status st = iperf_speed_of(text.data ? text.data : "", text.size, both_ways, ret, err);
    buf_fini(&text);
    return st;
}

/* A port that is free at this moment: iperf3 opens its own. */
static status find_port(char *ret, size_t bytes, error *err)
{
    int fd, port;
    TRY(port_listen(0, "iperf3", &fd, &port, err));
    close(fd);
    snprintf(ret, bytes, "%d", port);
    return OK;
}

status bench_iperf_measure(bool both_ways, int seconds, double *ret_gbit_per_s, error *err)
{
    char port[16], line[256];
    TRY(find_port(port, sizeof port, err));
    char *argv[] = {"iperf3", "-s", "-1", "-B", PORTS_HOST, "-p", port, "--forceflush", NULL};
    pid_t pid;
    FILE *out;
    TRY(iperf_start(argv, &pid, &out, err));
    bool listens = false;
    while (!listens && fgets(line, sizeof line, out))
        listens = strstr(line, "listening") != NULL;
    status st = listens ? run_client(port, both_ways, seconds, ret_gbit_per_s, err)
                        : FAIL(err, E_FAIL, "iperf3 cannot listen on port %s", port);
    if (st != OK)
        kill(pid, SIGKILL);
    while (fgets(line, sizeof line, out))
        ;
    finish(pid, out);
    return st;
}
