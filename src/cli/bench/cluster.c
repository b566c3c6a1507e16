#include "cli/bench/cluster.h"

#include "cli/bench/worker.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/net.h"
#include "common/store/jobdir.h"
#include "common/wire/hello.h"
#include "job/ports.h"
#include "ps/ps.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ERA = 1, JOB = 1 };
enum { LOOK_MS = 20, ALIVE_US = 1000000, SET_UP_S = 30, STOP_US = 5000000 };

typedef struct process {
    pid_t pid; /* 0: not running */
    const char *kind;
    int index;
} process;

typedef struct port {
    int fd;
    char endpoint[64];
    net_socket *socket; /* the master's dial */
    bool ready;
} port;

typedef struct cluster_run {
    bench_load load;
    const char *job_dir;
    bench_page *page;
    port ports[BENCH_SERVERS];
    process servers[BENCH_SERVERS], workers[BENCH_WORKERS];
    double cpu_s[2]; /* of servers, of workers, once they have ended */
    net *net;
    buf hello;
    int64_t alive_us;
} cluster_run;

/* --- the roles of the children --- */

static status server_process(const cluster_run *r, int index, error *err)
{
    const char *endpoint = r->ports[index].endpoint;
    net *transport = NULL;
    TRY(bench_load_open_net(&r->load, &transport, err));
    status st = ps_run(
        &(ps_options){
            .config = r->load.config,
            .self = {ROLE_PS, index},
            .net = transport,
            .endpoints = &endpoint,
            .n_endpoints = 1,
            .listen_fd = r->ports[index].fd,
            .job_dir = r->job_dir,
        },
        err);
    net_destroy(&transport);
    return st;
}

static status worker_process(const cluster_run *r, int index, error *err)
{
    const char *endpoints[BENCH_SERVERS];
    for (int p = 0; p < r->load.request.servers; p++) {
        endpoints[p] = r->ports[p].endpoint;
        close(r->ports[p].fd);
    }
    return bench_worker_run(&r->load, index, endpoints, r->page, err);
}

/* --- processes --- */

typedef status process_fn(const cluster_run *r, int index, error *err);

static status cluster_start(const cluster_run *r, process *p, const char *kind, int index, process_fn *run,
                            error *err)
{
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return FAIL(err, E_FAIL, "start a %s: %s", kind, strerror(errno));
    if (pid > 0) {
        *p = (process){.pid = pid, .kind = kind, .index = index};
        return OK;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(127);
    if (!getenv("TEQUIO_LOG_LEVEL"))
        log_set_level(LOG_WARN);
    error *mine = run == worker_process ? &r->page->results[index].error : &(error)ERROR_INIT;
    _exit(status_exit_code(run(r, index, mine)));
}

static status start_all(cluster_run *r, error *err)
{
    for (int i = 0; i < r->load.request.servers; i++)
        TRY(cluster_start(r, &r->servers[i], "server", i, server_process, err));
    for (int i = 0; i < r->load.request.workers; i++)
        TRY(cluster_start(r, &r->workers[i], "worker", i, worker_process, err));
    return OK;
}

/* True if it has ended; what it used is added up then. */
static bool reap(cluster_run *r, process *p, int options, int *ret_wait)
{
    struct rusage used;
    if (!p->pid || wait4(p->pid, ret_wait, options, &used) <= 0)
        return false;
    double seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                     (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    r->cpu_s[p >= r->workers && p < r->workers + BENCH_WORKERS] += seconds;
    p->pid = 0;
    return true;
}

static void kill_all(cluster_run *r, process *processes, int n)
{
    int how;
    for (int i = 0; i < n; i++)
        if (processes[i].pid)
            kill(processes[i].pid, SIGKILL);
    for (int i = 0; i < n; i++)
        reap(r, &processes[i], 0, &how);
}

static status ended_badly(const cluster_run *r, const process *p, int how, error *err)
{
    const error *why = &r->page->results[p->index].error;
    bool is_worker = strcmp(p->kind, "worker") == 0;
    if (is_worker && why->code != OK)
        return FAIL(err, why->code, "worker %d: %s", p->index, why->text);
    if (WIFSIGNALED(how))
        return FAIL(err, E_FAIL, "%s %d: killed by signal %d (%s)", p->kind, p->index,
                    WTERMSIG(how), strsignal(WTERMSIG(how)));
    return FAIL(err, E_FAIL, "%s %d: ended with code %d", p->kind, p->index, WEXITSTATUS(how));
}

/* How many still run; a bad end of any of them is an error. */
static status look_after(cluster_run *r, process *processes, int n, int *ret_running, error *err)
{
    *ret_running = 0;
    for (int i = 0; i < n; i++) {
        int how = 0;
        if (reap(r, &processes[i], WNOHANG, &how) && how != 0)
            return ended_badly(r, &processes[i], how, err);
        *ret_running += processes[i].pid != 0;
    }
    return OK;
}

/* --- the master's script --- */

static status say(const port *p, wire_type type, const buf *payload, error *err)
{
    wire_head h = {.type = type, .job_id = JOB, .era = ERA, .bytes = payload ? payload->size : 0};
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    span data = span_for_call(payload ? payload->data : NULL, h.bytes);
    return net_send(p->socket, NULL, head, &data, err);
}

/* Every server acts for its own shard, the next one stands by. */
static void tell_holders(const cluster_run *r, Wire__Holders shards[BENCH_SERVERS],
                         Wire__Holders *ret_shards[BENCH_SERVERS],
                         char *ret_addresses[BENCH_SERVERS])
{
    int n = r->load.request.servers;
    for (int i = 0; i < n; i++) {
        wire__holders__init(&shards[i]);
        shards[i].acting = (uint32_t)i;
        shards[i].has_standby = shards[i].is_backed = true;
        shards[i].standby = (uint32_t)((i + 1) % n);
        ret_shards[i] = &shards[i];
        ret_addresses[i] = (char *)(uintptr_t)r->ports[i].endpoint;
    }
}

static status say_setup(const cluster_run *r, const port *p, const jobdir *dir, error *err)
{
    Wire__Holders shards[BENCH_SERVERS], *pointers[BENCH_SERVERS];
    char *addresses[BENCH_SERVERS];
    Wire__Declaration declaration;
    wire_declaration_fill(r->load.flat, INT64_MAX / 4, &(steps_kinds){.n = 0}, &declaration);
    Wire__Setup m = WIRE__SETUP__INIT;
    m.declaration = &declaration;
    m.servers = (uint32_t)r->load.client_servers;
    m.server = (uint32_t)((p - r->ports) % r->load.client_servers);
    m.dir_token = (char *)(uintptr_t)jobdir_token(dir);
    m.batch_size = 1;
    m.batches_per_step = r->load.n_slots;
    m.total_steps = INT64_MAX / 8;
    if (r->load.request.copies) {
        tell_holders(r, shards, pointers, addresses);
        m.n_shards = m.n_addresses = m.servers;
        m.shards = pointers;
        m.addresses = addresses;
    }
    buf packed = BUF_INIT;
    wire_pack(&m.base, &packed);
    wire_declaration_clear(&declaration);
    status st = say(p, WIRE_SETUP, &packed, err);
    buf_fini(&packed);
    return st;
}

static status say_stop(const port *p, error *err)
{
    Wire__Stop m = WIRE__STOP__INIT;
    buf packed = BUF_INIT;
    wire_pack(&m.base, &packed);
    status st = say(p, WIRE_STOP, &packed, err);
    buf_fini(&packed);
    return st;
}

static status cluster_hear(const cluster_run *r, port *p, const jobdir *dir, const net_message *m,
                           error *err)
{
    wire_head h;
    TRY(wire_head_decode(m->head, span_bytes(m->payload), &h, err));
    if (h.type == WIRE_WELCOME)
        return say_setup(r, p, dir, err);
    if (h.type == WIRE_READY)
        p->ready = true;
    if (h.type != WIRE_FAILED && h.type != WIRE_REFUSED)
        return OK;
    ProtobufCMessage *said = NULL;
    TRY(wire_unpack(h.type, span_data(m->payload), span_bytes(m->payload), &said, err));
    const char *text = h.type == WIRE_FAILED ? ((const Wire__Stop *)said)->text
                                             : ((const Wire__Refused *)said)->text;
    status st = FAIL(err, E_FAIL, "a server: %s", text);
    wire_free(said);
    return st;
}

/* Waits a little for servers and says and hears what is due. */
static status cluster_attend(cluster_run *r, const jobdir *dir, error *err)
{
    net_socket *sockets[BENCH_SERVERS];
    for (int i = 0; i < r->load.request.servers; i++)
        sockets[i] = r->ports[i].socket;
    TRY(net_poll(sockets, (size_t)r->load.request.servers, NULL, LOOK_MS, err));
    bool is_due = clock_us() >= r->alive_us;
    if (is_due)
        r->alive_us = clock_us() + ALIVE_US;
    for (int i = 0; i < r->load.request.servers; i++) {
        port *p = &r->ports[i];
        net_event event;
        while (net_next_event(p->socket, &event))
            if (event.kind == NET_UP)
                TRY(say(p, WIRE_HELLO, &r->hello, err));
        net_message m;
        while (net_receive(p->socket, &m)) {
            status st = cluster_hear(r, p, dir, &m, err);
            span_drop(m.payload);
            TRY(st);
        }
        if (is_due && p->ready)
            TRY(say(p, WIRE_HEARTBEAT, NULL, err));
    }
    return OK;
}

static bool all_ready(const cluster_run *r)
{
    for (int i = 0; i < r->load.request.servers; i++)
        if (!r->ports[i].ready)
            return false;
    return true;
}

static status stop_servers(cluster_run *r, error *err)
{
    for (int i = 0; i < r->load.request.servers; i++)
        TRY(say_stop(&r->ports[i], err));
    int64_t give_up = clock_us() + STOP_US;
    int running = 1;
    while (running) {
        TRY(look_after(r, r->servers, r->load.request.servers, &running, err));
        if (running && clock_us() > give_up)
            return FAIL(err, E_TIMEOUT, "a server does not stop");
        usleep(1000);
    }
    return OK;
}

/* Sets the servers up, lets the workers go, and stays until they are through. */
static status play_master(cluster_run *r, const jobdir *dir, error *err)
{
    const bench_request *q = &r->load.request;
    int64_t give_up = clock_us() + (int64_t)((q->seconds + SET_UP_S) * 1e6);
    for (int i = 0; i < r->load.request.servers; i++)
        TRY(net_dial(r->net, r->ports[i].endpoint, &r->ports[i].socket, err));
    int workers = 1, servers = 0;
    while (workers) {
        TRY(cluster_attend(r, dir, err));
        if (all_ready(r))
            atomic_store(&r->page->ready, true);
        TRY(look_after(r, r->servers, q->servers, &servers, err));
        TRY(look_after(r, r->workers, q->workers, &workers, err));
        if (clock_us() > give_up)
            return FAIL(err, E_TIMEOUT, "the workers are not done %d s after their time", SET_UP_S);
    }
    return stop_servers(r, err);
}

static status be_master(cluster_run *r, error *err)
{
    jobdir *dir = NULL;
    TRY(jobdir_open(r->job_dir, &dir, err));
    hello_pack(
        &(hello_facts){
            .config = r->load.config,
            .task = {ROLE_MASTER, 0},
            .life = hello_life(),
            .job_id = JOB,
        },
        &r->hello);
    status st = bench_load_open_net(&r->load, &r->net, err);
    if (st == OK)
        st = play_master(r, dir, err);
    for (int i = 0; i < r->load.request.servers; i++)
        net_close(&r->ports[i].socket, 0);
    net_destroy(&r->net);
    buf_fini(&r->hello);
    jobdir_close(&dir);
    return st;
}

/* --- the whole --- */

static status open_ports(cluster_run *r, error *err)
{
    for (int i = 0; i < r->load.request.servers; i++)
        r->ports[i].fd = -1;
    for (int i = 0; i < r->load.request.servers; i++) {
        port *p = &r->ports[i];
        int number = 0;
        TRY(port_listen(0, "bench", &p->fd, &number, err));
        snprintf(p->endpoint, sizeof p->endpoint, "tcp://" PORTS_HOST ":%d", number);
    }
    return OK;
}

static status open_page(int workers, bench_page **ret, error *err)
{
    bench_page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return FAIL(err, E_NOMEM, "share a page: %s", strerror(errno));
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&page->turn, &shared, (unsigned)workers);
    pthread_barrierattr_destroy(&shared);
    atomic_store(&page->last, INT64_MAX);
    *ret = page;
    return OK;
}

static bench_speed cluster_speed_of(const cluster_run *r)
{
    const bench_request *q = &r->load.request;
    double seconds = 0, bytes = 0;
    for (int i = 0; i < q->workers; i++) {
        const bench_result *w = &r->page->results[i];
        seconds = w->seconds > seconds ? w->seconds : seconds;
        bytes += (double)w->parts * (double)q->bytes;
    }
    int directions = q->traffic == BENCH_PUSHPULL ? 2 : 1;
    return (bench_speed){
        .gbit_per_s = 8e-9 * bytes * directions / seconds,
        .server_cpus = r->cpu_s[0] / seconds,
        .worker_cpus = r->cpu_s[1] / seconds,
    };
}

static status run(cluster_run *r, error *err)
{
    TRY(open_ports(r, err));
    TRY(open_page(r->load.request.workers, &r->page, err));
    status st = start_all(r, err);
    for (int i = 0; i < r->load.request.servers; i++)
        close(r->ports[i].fd);
    return st == OK ? be_master(r, err) : st;
}

status bench_cluster_measure(const bench_request *request, const char *job_dir, bench_speed *ret,
                             error *err)
{
    cluster_run *r = xcalloc(1, sizeof *r);
    r->job_dir = job_dir;
    status st = bench_load_make(request, &r->load, err);
    if (st == OK) {
        st = run(r, err);
        kill_all(r, r->workers, request->workers);
        kill_all(r, r->servers, request->servers);
        bench_load_fini(&r->load);
    }
    if (st == OK)
        *ret = cluster_speed_of(r);
    if (r->page)
        munmap(r->page, sizeof *r->page);
    free(r);
    return st;
}
