#include "job/ssh/fetch.h"

#include "common/base/alloc.h"
#include "job/process/sent_file.h"
#include "job/process/shell_word.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The client's own failure, which may pass, and how often it is tried. */
enum { CLIENT_FAILED = 255, TRIES = 3 };

/* The file is opened once: it may be replaced meanwhile. */
#define OPEN "/proc/self/fd/3"

/* From the folder in which remote.h lets tasks run. */
static char *script_for(const char *path)
{
    char folder[4096];
    buf b = BUF_INIT;
    buf_adds(&b, "cd ");
    shell_word_add(getcwd(folder, sizeof folder) ? folder : "/", &b);
    buf_adds(&b, " 2>/dev/null || cd; f=");
    shell_word_add(path, &b);
    buf_adds(&b, "; if [ -f \"$f\" ]; then { echo \"" SENT_FILE "$(wc -c <" OPEN ") "
                 "$( { sha256sum <" OPEN " | cut -c1-64; } 2>/dev/null)\"; cat <&3; } 3<\"$f\"; "
                 "else echo " SENT_NONE "; fi");
    return buf_detach(&b);
}

static status ask(const ssh_options *o, const char *name, const char *path, int to, error *err)
{
    int n = 0;
    while (o->client[n])
        n++;
    const char **argv = xcalloc((size_t)n + 3, sizeof *argv);
    char *script = script_for(path), *who = xasprintf("host %s", name), *where = xasprintf("on host %s", name);
    memcpy(argv, o->client, (size_t)n * sizeof *argv);
    argv[n] = name;
    argv[n + 1] = script;
    const sent_file_sender from = {.argv = argv, .who = who, .where = where};
    error why = ERROR_INIT;
    status st = E_FAIL;
    int code = CLIENT_FAILED;
    for (int i = 0; st == E_FAIL && i < TRIES && code == CLIENT_FAILED; i++) {
        error_clear(&why);
        st = sent_file_receive(&from, path, to, &code, &why);
    }
    if (st != OK)
        (void)FAIL(err, st, "%s", why.text);
    free(where);
    free(who);
    free(script);
    free(argv);
    return st;
}

status ssh_fetch(const ssh_options *o, const char *path, int to, error *err)
{
    roster tasks;
    hosts_place *places = NULL;
    TRY(ssh_plan(o, &tasks, &places, err));
    const char *name = o->hosts->at[places[0].host].name; /* the master is the first of a roster */
    roster_close(&tasks);
    free(places);
    return ask(o, name, path, to, err);
}
