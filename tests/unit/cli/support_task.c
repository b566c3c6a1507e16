#include "unit/cli/support_task.h"

#include "common/base/json.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool support_is_task(void)
{
    return getenv("TF_CONFIG") != NULL;
}

static void self_name(char *ret, size_t bytes)
{
    json_t *all = json_loads(getenv("TF_CONFIG"), 0, NULL);
    const json_t *task = json_object_get(all, "task");
    snprintf(ret, bytes, "%s.%d", json_string_value(json_object_get(task, "type")),
             (int)json_integer_value(json_object_get(task, "index")));
    json_decref(all);
}

static void leave(int signal)
{
    (void)signal;
    _exit(143);
}

static int act(const char *name, const char *what)
{
    int n = strchr(what, ':') ? atoi(strchr(what, ':') + 1) : 0;
    if (strncmp(what, "exit:", 5) == 0) {
        fprintf(stderr, "%s is going to fail\n", name);
        return n;
    }
    if (strncmp(what, "blame:", 6) == 0) {
        fprintf(stderr, "12:00:00.000 master.0 error FAILED task=worker.%d for a test\n", n);
        return 3;
    }
    if (strncmp(what, "kill:", 5) == 0)
        raise(n);
    if (strncmp(what, "mortal:", 7) == 0) {
        const char *life = getenv("TEQUIO_FAULT_LIFE");
        fprintf(stderr, "%s life %s\n", name, life ? life : "1");
        if ((life ? atoi(life) : 1) <= n)
            raise(SIGKILL);
        open(getenv("SUPPORT_FIFO"), O_WRONLY | O_CLOEXEC); /* once somebody awaits us */
    }
    if (strcmp(what, "await") == 0)
        open(getenv("SUPPORT_FIFO"), O_RDONLY | O_CLOEXEC);
    if (strcmp(what, "wait") == 0 || strcmp(what, "stubborn") == 0) {
        signal(SIGTERM, strcmp(what, "wait") == 0 ? leave : SIG_IGN);
        fprintf(stderr, "%s waits\n", name);
        for (;;)
            pause();
    }
    for (int i = 0; strncmp(what, "print:", 6) == 0 && i < n; i++)
        fprintf(stderr, "%s line %d\n", name, i);
    if (strcmp(what, "bar") == 0) {
        for (int i = 0; i < 3; i++)
            fprintf(stderr, "\r%d of 3\033[K\r", i);
        fprintf(stderr, "\n");
        printf("a result\n");
    }
    if (strcmp(what, "partial") == 0)
        fprintf(stderr, "no end");
    return 0;
}

int support_play(int argc, char **argv)
{
    char name[64];
    self_name(name, sizeof name);
    size_t n = strlen(name);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], name, n) == 0 && argv[i][n] == '=')
            return act(name, argv[i] + n + 1);
    return 0;
}
