#include "cli/run/page_beside.h"

#include "common/base/alloc.h"
#include "job/process/child.h"
#include "watch/http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 16 };

page_words page_words_of(const config *c)
{
    return (page_words){.place = config_str(c, "distributed.page"),
                        .certificate = config_str(c, "distributed.page_certificate"),
                        .certificate_key = config_str(c, "distributed.page_certificate_key"),
                        .token_file = config_str(c, "distributed.page_token_file"),
                        .price = config_str(c, "distributed.page_price")};
}

/* What `tequio page` would find only when the job has begun. */
static status check_words(const page_words *w, error *err)
{
    const char *const files[] = {w->certificate, w->certificate_key, w->token_file};
    if (!w->certificate != !w->certificate_key)
        return FAIL(err, E_CONFIG,
                    "distributed.page_certificate and distributed.page_certificate_key need each other");
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (files[i] && access(files[i], R_OK) != 0)
            return FAIL(err, E_CONFIG, "read '%s': %s", files[i], strerror(errno));
    return http_check(w->certificate, err);
}

static status check_place(const page_beside *p, error *err)
{
    if (p->at.is_local || p->words.certificate)
        return OK;
    return FAIL(err, E_CONFIG,
                "%s can be reached from elsewhere, where others could read along: give distributed.page_certificate "
                "and distributed.page_certificate_key; or serve on 127.0.0.1, and reach it by "
                "ssh -L PORT:127.0.0.1:PORT HOST",
                p->at.address);
}

status page_beside_open(const page_words *words, page_beside *ret, error *err)
{
    page_beside p = {.words = *words, .at = HTTP_NOWHERE};
    status st = OK;
    if (words->place)
        st = check_words(words, err);
    if (st == OK && words->place)
        st = http_listen(words->place, &p.at, err);
    if (st == OK && words->place)
        st = check_place(&p, err);
    if (st != OK) {
        error_prepend(err, "the page of this job");
        http_place_close(&p.at);
        return st;
    }
    *ret = p;
    return OK;
}

/* Between fork and exec: only what POSIX allows there. Where memory ends, it is the first to go. */
_Noreturn static void become_page(char *const *argv, int fd, pid_t parent)
{
    child_stand_apart(parent);
    signal(SIGPIPE, SIG_DFL);
    int memory = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)!write(memory, "1000", 4);
    dup2(input, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO); /* standard output is for the job's results */
    fcntl(fd, F_SETFD, 0);
    execv("/proc/self/exe", argv);
    dprintf(STDERR_FILENO, "tequio: page: cannot start: %s\n", strerror(errno));
    _exit(127);
}

static void add_words(const char **argv, size_t *n, const char *flag, const char *value)
{
    if (!value)
        return;
    argv[(*n)++] = flag;
    argv[(*n)++] = value;
}

void page_beside_begin(page_beside *p, const char *job_dir)
{
    const char *argv[WORDS] = {"tequio", "page", "--wait"};
    char place[32];
    size_t n = 3;
    if (p->at.fd < 0)
        return;
    snprintf(place, sizeof place, "fd:%d", p->at.fd);
    add_words(argv, &n, "--listen", place);
    add_words(argv, &n, "--certificate", p->words.certificate);
    add_words(argv, &n, "--certificate-key", p->words.certificate_key);
    add_words(argv, &n, "--token-file", p->words.token_file);
    add_words(argv, &n, "--price", p->words.price);
    add_words(argv, &n, "--", job_dir);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become_page((char *const *)(uintptr_t)argv, p->at.fd, parent);
    if (pid < 0)
        fprintf(stderr, "tequio: page: start a process: %s; the job goes on without a page\n", strerror(errno));
    p->pid = pid < 0 ? 0 : pid;
    http_place_close(&p->at);
}

static void say_early_end(int ended)
{
    bool was_killed = WIFSIGNALED(ended);
    fprintf(stderr, "tequio: page: it had ended before the job, %s %d\n", was_killed ? "by signal" : "with exit",
            was_killed ? WTERMSIG(ended) : WEXITSTATUS(ended));
}

void page_beside_end(page_beside *p)
{
    int ended = 0;
    http_place_close(&p->at);
    if (p->pid <= 0)
        return;
    if (waitpid(p->pid, &ended, WNOHANG) == p->pid) {
        say_early_end(ended);
    } else {
        kill(p->pid, SIGKILL); /* it holds nothing */
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    p->pid = 0;
}
