/* Life cycle, look-ups and names. */
#include "common/cluster/cluster.h"

#include "common/base/alloc.h"
#include "common/cluster/spec.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct owned_cluster {
    cluster cluster; /* first, so that one address serves both */
    arena *memory;
} owned_cluster;

cluster *cluster_create(struct arena **ret_memory)
{
    owned_cluster *o = xcalloc(1, sizeof *o);
    o->memory = arena_create();
    *ret_memory = o->memory;
    return &o->cluster;
}

arena *cluster_memory(cluster *c)
{
    return ((owned_cluster *)c)->memory;
}

void cluster_destroy(cluster **c)
{
    if (!c || !*c)
        return;
    owned_cluster *o = (owned_cluster *)*c;
    arena_destroy(&o->memory);
    free(o);
    *c = NULL;
}

void cluster_add_evaluators(cluster *c, int32_t n)
{
    cluster_job *job = &c->jobs[ROLE_EVALUATOR];
    if (c->origin == CLUSTER_LOCAL || c->task.role == ROLE_EVALUATOR || job->n || n <= 0)
        return;
    job->address = arena_alloc(cluster_memory(c), (size_t)n * sizeof *job->address);
    job->n = n;
}

task cluster_chief(const cluster *c)
{
    return (task){c->master_is_worker ? ROLE_WORKER : ROLE_MASTER, 0};
}

const char *cluster_address(const cluster *c, task t)
{
    const cluster_job *job = &c->jobs[t.role];
    return t.index >= 0 && t.index < job->n ? job->address[t.index] : NULL;
}

int32_t cluster_count(const cluster *c, role r)
{
    const cluster_job *job = &c->jobs[r];
    if (!job->sparse)
        return job->n;
    int32_t n = 0;
    for (int32_t i = 0; i < job->n; i++)
        n += job->address[i] != NULL;
    return n;
}

static const char *const names[ROLE_COUNT] = {
    [ROLE_MASTER] = "master",
    [ROLE_WORKER] = "worker",
    [ROLE_PS] = "ps",
    [ROLE_EVALUATOR] = "evaluator",
};

const char *role_name(role r)
{
    BUG_ON((unsigned)r >= ROLE_COUNT);
    return names[r];
}

bool role_of(const char *name, role *ret)
{
    if (strcmp(name, "chief") == 0)
        name = names[ROLE_MASTER];
    for (int r = 0; r < ROLE_COUNT; r++) {
        if (strcmp(name, names[r]) == 0) {
            *ret = (role)r;
            return true;
        }
    }
    return false;
}

const char *task_name(task t, char buffer[TASK_NAME])
{
    snprintf(buffer, TASK_NAME, "%s.%d", role_name(t.role), (int)t.index);
    return buffer;
}

status address_split(const char *address, char *host, size_t bytes, int *ret_port, error *err)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || !colon[1])
        return FAIL(err, E_CONFIG, "address '%s': expected host:port", address);
    size_t digits = strspn(colon + 1, "0123456789");
    long port = digits <= 5 && !colon[1 + digits] ? strtol(colon + 1, NULL, 10) : 0;
    if (port < 1 || port > PORT_MOST)
        return FAIL(err, E_CONFIG, "address '%s': port '%s' is not a number from 1 to %d", address,
                    colon + 1, PORT_MOST);
    const char *start = address;
    size_t n = (size_t)(colon - address);
    bool in_brackets = start[0] == '[' && n > 2 && start[n - 1] == ']';
    if (in_brackets) {
        start++;
        n -= 2;
    } else if (memchr(start, ':', n) || start[0] == '[') {
        return FAIL(err, E_CONFIG, "address '%s': expected an IPv6 host in brackets, [::1]:port",
                    address);
    }
    if (n >= bytes)
        return FAIL(err, E_CONFIG, "address '%s': host is longer than %zu bytes", address,
                    bytes - 1);
    memcpy(host, start, n);
    host[n] = '\0';
    *ret_port = (int)port;
    return OK;
}

status cluster_check_addresses(const cluster *c, error *err)
{
    char host[256], name[TASK_NAME];
    int port;
    for (role r = 0; r < ROLE_COUNT; r++)
        for (int32_t i = 0; i < c->jobs[r].n; i++) {
            const char *address = c->jobs[r].address[i];
            if (address)
                TRYF(address_split(address, host, sizeof host, &port, err), err, "%s",
                     task_name((task){r, i}, name));
        }
    return OK;
}

bool host_is_loopback(const char *host)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &six) == 1)
        return IN6_IS_ADDR_LOOPBACK(&six);
    return strcasecmp(host, "localhost") == 0;
}

bool address_is_loopback(const char *address)
{
    char host[256];
    int port;
    return address[0] == '@' ||
           (address_split(address, host, sizeof host, &port, NULL) == OK && host_is_loopback(host));
}
