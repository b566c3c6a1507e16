#include "common/wire/hello.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { HELLO_LINES = 4096 };

uint64_t hello_life(void)
{
    uint64_t life = 0;
    while (life == 0)
        if (getrandom(&life, sizeof life, 0) != (ssize_t)sizeof life)
            life = 0;
    return life;
}

static char *text_of(const char *s)
{
    return (char *)(uintptr_t)(s ? s : "");
}

/* A listener takes few bytes of those who have not said hello (TRANSPORT.md, "Limits"): of a long
 * configuration only the first lines go with it, and only those are compared line by line. */
static void take_lines(const config *c, buf *ret)
{
    config_value_lines(c, ret);
    if (ret->size <= HELLO_LINES)
        return;
    ret->size = HELLO_LINES;
    while (ret->size && ret->data[ret->size - 1] != '\n')
        ret->size--;
    ret->data[ret->size] = '\0';
}

void hello_pack(const hello_facts *facts, buf *ret)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    char digest[SHA256_HEX];
    config_digest(facts->config, digest);
    buf lines = BUF_INIT;
    take_lines(facts->config, &lines);

    Wire__Hello m = WIRE__HELLO__INIT;
    m.protocol = WIRE_PROTOCOL;
    m.role = text_of(role_name(facts->task.role));
    m.index = (uint32_t)facts->task.index;
    m.life = facts->life;
    m.job_id = facts->job_id;
    m.config_digest = digest;
    m.config_lines = text_of(lines.data);
    m.fingerprint = text_of(facts->fingerprint);
    m.lanes = facts->lanes;
    m.host = host;
    m.pid = (uint64_t)getpid();
    m.master_address = text_of(facts->master_address);
    m.flat_digest = text_of(facts->flat_digest);
    m.files = text_of(facts->files);
    m.trainer = facts->trainer;
    m.servers = facts->servers;
    m.ranks = facts->ranks;
    m.address = text_of(facts->address);
    m.reads = text_of(facts->reads);
    m.moves = facts->moves;
    wire_pack(&m.base, ret);
    buf_fini(&lines);
}

/* "'random_seed' is 2 there, 1 here" */
static status hello_fail_differs(const Wire__Hello *hello, const config *ours, task who, task self,
                                 error *err)
{
    buf lines = BUF_INIT;
    char key[256] = "", name[TASK_NAME], own[TASK_NAME];
    int n_there, n_here;
    take_lines(ours, &lines);
    if (!config_digest_differs(lines.data, hello->config_lines, key, sizeof key)) {
        buf_fini(&lines);
        return FAIL(err, E_CONFIG,
                    "%s on host %s was started with another configuration than %s: they differ in a "
                    "key that comes late in a long one; start every task with the same one",
                    task_name(who, name), hello->host, task_name(self, own));
    }
    const char *there = config_line_value(hello->config_lines, key, &n_there);
    const char *here = config_line_value(lines.data, key, &n_here);
    status st = FAIL(err, E_CONFIG,
                     "%s on host %s was started with another configuration than %s: '%s' is %.*s "
                     "there, %.*s here; start every task with the same one",
                     task_name(who, name), hello->host, task_name(self, own), key, n_there, there,
                     n_here, here);
    buf_fini(&lines);
    return st;
}

status hello_check(const Wire__Hello *hello, const config *ours, task self, task *ret_task,
                   error *err)
{
    if (hello->protocol != WIRE_PROTOCOL)
        return FAIL(err, E_PROTOCOL, "protocol %u is spoken there, %d here: use one version of tequio",
                    hello->protocol, WIRE_PROTOCOL);
    task t = {.index = (int32_t)hello->index};
    if (!role_of(hello->role, &t.role) || t.index < 0 || hello->life == 0)
        return FAIL(err, E_PROTOCOL, "a hello from no role of ours");
    char digest[SHA256_HEX];
    config_digest(ours, digest);
    if (strcmp(digest, hello->config_digest) != 0)
        return hello_fail_differs(hello, ours, t, self, err);
    *ret_task = t;
    return OK;
}

task hello_process(const Wire__Hello *hello, task who)
{
    return hello->trainer ? (task){.role = ROLE_MASTER} : who;
}

status hello_check_server(const Wire__Hello *hello, const wire_head *head, task self, error *err)
{
    int64_t meant = wire_hello_server(head);
    char own[TASK_NAME];
    if (meant < 0 || meant == self.index)
        return OK;
    return FAIL(err, E_CONFIG,
                "%s.%u on host %s looks for ps.%" PRId64 " where %s is: its list of parameter servers "
                "is not that of this task; name the same cluster to every task",
                hello->role, hello->index, hello->host, meant, task_name(self, own));
}
