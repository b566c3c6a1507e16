#include "job/process/said.h"

#include "job/process/log_mux.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Their own words, by their stable ids: "... error FAILED task=worker.1 code=3 ...". */
#define BLAME " error FAILED task="
#define HANGS " warn HUNG task="

/* The task whose name stands behind `words` in the line; NULL if there is none. */
static child *find_named(const supervision *s, const char *line, const char *words)
{
    const char *name = strstr(line, words);
    size_t bytes = name ? strcspn(name + strlen(words), " ") : 0;
    for (int i = 0; name && i < s->n; i++)
        if (strlen(s->children[i].name) == bytes &&
            memcmp(s->children[i].name, name + strlen(words), bytes) == 0)
            return &s->children[i];
    return NULL;
}

static void note_blame(supervision *s, const char *line)
{
    if (!s->blamed)
        s->blamed = find_named(s, line, BLAME);
}

static void note_hung(supervision *s, const char *line)
{
    child *c = find_named(s, line, HANGS);
    if (!c || c->has_ended)
        return;
    log_mux_say("%s hangs: it is killed", c->name);
    child_kill(c, SIGKILL);
}

/* Why a task failed, as itself and the master say it, is told once, by us, when we know who was first. */
static bool is_told_later(const child *c, const char *line)
{
    const char *blame = c->task.role == ROLE_MASTER ? strstr(line, BLAME) : NULL;
    const char *code = blame ? strstr(blame, " code=") : NULL;
    bool is_for_good = code && atoi(code + strlen(" code=")) < 128;
    return is_for_good || strncmp(line, CHILD_FAILURE, strlen(CHILD_FAILURE)) == 0;
}

void said_take_line(void *user, child *c, int stream, const char *line, bool is_bar)
{
    supervision *s = user;
    if (c->task.role == ROLE_MASTER && stream == 1)
        note_blame(s, line);
    if (stream == 1)
        note_hung(s, line);
    if (stream == 0 || !is_told_later(c, line))
        log_mux_show(c, stream, line, is_bar);
}
