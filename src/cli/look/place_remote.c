/* A job looked at on another host or in its pod: by `tequio status --json` over there. */
#include "cli/look/place_internal.h"
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "job/kubernetes/kubectl.h"
#include "job/process/shell_word.h"
#include "job/process/short_command.h"
#include "job/ssh/ssh.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 128, ANSWER_MOST = 16 << 20 };

/* Login shells may say something before it. */
#define MARK "tequio-looks"

/* --- what it is --- */

status place_ssh_open(place *p, const args *a, error *err)
{
    const char *at = p->word + strlen("ssh://"), *slash = strchr(at, '/');
    const char *port = slash ? memchr(at, ':', (size_t)(slash - at)) : NULL;
    if (!slash || slash == at || port == at || !slash[1] || *at == '-')
        return FAIL(err, E_USAGE, "'%s' names no folder of a host: ssh://[USER@]HOST[:PORT]/DIR is needed", p->word);
    p->host = xstrndup(at, (size_t)((port ? port : slash) - at));
    p->port = port ? xstrndup(port + 1, (size_t)(slash - port - 1)) : NULL;
    if (port && (!*p->port || strspn(p->port, "0123456789") != strlen(p->port)))
        return FAIL(err, E_USAGE, "'%s': '%s' is no port", p->word, p->port);
    p->dir = xstrdup(slash);
    p->ssh = args_has(a, "ssh") ? args_text(a, "ssh") : SSH_CLIENT;
    return OK;
}

/* As kubernetes_name makes it of a job's. */
status place_kubernetes_open(place *p, const args *a, error *err)
{
    const char *name = p->word + strlen("kubernetes://"), *slash = strchr(name, '/');
    p->name = xstrndup(name, slash ? (size_t)(slash - name) : strlen(name));
    p->dir = slash && slash[1] ? xstrdup(slash) : NULL;
    p->namespace = args_text(a, "namespace");
    for (char *c = p->name; *c; c++) {
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
        if (!isalnum((unsigned char)*c) && *c != '-')
            return FAIL(err, E_USAGE, "'%s': '%s' is no name of a job: kubernetes://NAME[/DIR] is needed", p->word,
                        p->name);
    }
    return *p->name ? OK : FAIL(err, E_USAGE, "'%s' names no job: kubernetes://NAME[/DIR] is needed", p->word);
}

/* --- what is run there --- */

/* The program that was put there last, else that on the path, with these words, the folder and those behind it. */
static char *script_for(const place *p, const char *mark, const char *const *words, const char *const *tail)
{
    buf b = BUF_INIT;
    bool is_home = strncmp(p->dir, "/~/", 3) == 0;
    buf_adds(&b, "p=$(ls -t \"$HOME\"/.cache/tequio/*/tequio 2>/dev/null | head -n 1); "
                 "[ -x \"$p\" ] || p=$(command -v tequio) || "
                 "{ echo 'there is no tequio on the path, nor one that submit has put there' >&2; exit 127; }; cd; ");
    if (mark)
        buf_addf(&b, "echo %s; ", mark);
    buf_adds(&b, "exec \"$p\"");
    for (; *words; words++) {
        buf_adds(&b, " ");
        shell_word_add(*words, &b);
    }
    buf_adds(&b, " ");
    shell_word_add(is_home ? p->dir + 3 : p->dir, &b);
    for (; *tail; tail++) {
        buf_adds(&b, " ");
        shell_word_add(*tail, &b);
    }
    return buf_detach(&b);
}

/* argv[0..], whose words are in `memory`, and the script, which is the caller's. */
static status ssh_line(const place *p, char *script, arena *memory, const char *ret[WORDS], error *err)
{
    char *rest = arena_strdup(memory, p->ssh);
    int n = 0;
    for (char *word = strtok_r(rest, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (n + 5 >= WORDS)
            return FAIL(err, E_USAGE, "--ssh: it has more than %d words", WORDS - 5);
        ret[n++] = word;
    }
    if (!n)
        return FAIL(err, E_USAGE, "--ssh is empty; it is a command, as 'ssh -i key'");
    if (p->port) {
        ret[n++] = "-p";
        ret[n++] = p->port;
    }
    ret[n++] = p->host;
    ret[n++] = script;
    ret[n] = NULL;
    return OK;
}

static status find_master(const place *p, arena *memory, kubectl_found *ret, error *err)
{
    const kubernetes_options o = {.name = p->name, .namespace = p->namespace};
    kubectl_found *list;
    int n = 0;
    TRY(kubectl_find(&o, memory, &list, &n, err));
    for (int i = 0; i < n; i++) {
        if (list[i].task.role != ROLE_MASTER)
            continue;
        if (strcmp(list[i].phase, "Running") != 0)
            return FAIL(err, E_FAIL, "%s: its master's pod %s is %s, and cannot be asked", p->word, list[i].name,
                        list[i].phase);
        *ret = list[i];
        if (p->dir || ret->job_dir)
            return OK;
        return FAIL(err, E_USAGE, "%s: the pod's arguments name no job dir: give it, %s/DIR", p->word, p->word);
    }
    return FAIL(err, E_FAIL, "%s: there is no pod of its master: the job has ended, or was not given to this cluster",
                p->word);
}

static status kubectl_line(const place *p, arena *memory, const char *ret[WORDS], error *err)
{
    kubectl_found master = {0};
    int n = 0;
    TRY(find_master(p, memory, &master, err));
    ret[n++] = "kubectl";
    if (p->namespace) {
        ret[n++] = "--namespace";
        ret[n++] = p->namespace;
    }
    const char *dir = p->dir ? p->dir : master.job_dir;
    const char *rest[] = {"exec", master.name, "--", "tequio", "status", "--json", dir, NULL};
    memcpy(ret + n, rest, sizeof rest);
    return OK;
}

/* --- what it says --- */

static bool take_answer(void *user, const char *bytes, size_t n)
{
    buf *b = user;
    buf_add(b, bytes, n);
    return b->size < ANSWER_MOST;
}

static status read_answer(const place *p, const buf *said, json_t **ret_list, error *err)
{
    const char *mark = said->data ? strstr(said->data, MARK "\n") : NULL;
    const char *from = mark ? mark + strlen(MARK) : said->data;
    json_t *one = NULL;
    if (!from)
        return FAIL(err, E_IO, "%s: it told nothing", p->word);
    TRY(json_parse(from, said->size - (size_t)(from - said->data), p->word, E_DATA, &one, err));
    *ret_list = json_is_array(one) ? one : json_pack("[o]", one);
    return OK;
}

static status run_line(const place *p, const char *const *argv, json_t **ret_list, error *err)
{
    buf said = BUF_INIT;
    char *words = NULL;
    int code = 0;
    status st = short_command_stream(argv, NULL, take_answer, &said, &words, &code, err);
    if (st == OK && code != 0)
        st = FAIL(err, E_FAIL, "%s: %s", p->word, words && *words ? words : "the command that asks for it failed");
    if (st == OK)
        st = read_answer(p, &said, ret_list, err);
    free(words);
    buf_fini(&said);
    return st;
}

status place_remote_look(place *p, json_t **ret_list, error *err)
{
    static const char *const words[] = {"status", "--json", NULL}, *const tail[] = {NULL};
    const char *argv[WORDS];
    arena *memory = arena_create();
    char *script = p->kind == PLACE_SSH ? script_for(p, MARK, words, tail) : NULL;
    status st = script ? ssh_line(p, script, memory, argv, err) : kubectl_line(p, memory, argv, err);
    if (st == OK)
        st = run_line(p, argv, ret_list, err);
    free(script);
    arena_destroy(&memory);
    return st;
}

status place_become(const place *p, const char *const *words, const char *const *tail, error *err)
{
    const char *argv[WORDS];
    arena *memory = arena_create();
    char *script = script_for(p, NULL, words, tail);
    status st = ssh_line(p, script, memory, argv, err);
    if (st == OK) {
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        st = FAIL(err, E_IO, "start %s: %s", argv[0], strerror(errno));
    }
    free(script);
    arena_destroy(&memory);
    return st;
}
