#include "cli/bench/worker.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/net/net.h"
#include "common/wire/hello.h"
#include "kv/kv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARM_UP = 3, SILENCE_MS = 1000, JOB = 1, ERA = 1 };

typedef struct bench_worker bench_worker;

typedef struct client {
    bench_worker *worker;
    kv *kv;
    float *grad, *weights;
    span *lent;                  /* [n_parts] of grad */
    uint32_t slot;
    int64_t step;
    int passes;                  /* over its parts, still to be begun in this turn */
    int32_t missing;             /* parts asked for that have not come */
    int32_t next[BENCH_SERVERS]; /* where to look for the next part of each server */
} client;

struct bench_worker {
    const bench_load *load;
    const flat *flat;
    int index;
    bool pushes, pulls;
    int passes; /* in a turn */
    buf hello;
    net *net;
    client *clients;
    net_socket **sockets;
    status failed;
    error *err;
};

static void fail(bench_worker *w, status st)
{
    if (w->failed == OK)
        w->failed = st;
}

/* The next part of that server goes on its way, if there is one. */
static status worker_start_next(client *c, int32_t server, error *err)
{
    bench_worker *w = c->worker;
    int32_t p = c->next[server];
    while (p < w->flat->n_parts && kv_server_of(c->kv, p) != server)
        p++;
    c->next[server] = p + 1;
    if (p >= w->flat->n_parts)
        return OK;
    if (w->pushes) {
        tree_node leaf = {.level = 0, .index = c->slot};
        TRY(kv_push(c->kv, p, c->step, (uint32_t)w->load->n_slots, leaf, span_hold(&c->lent[p]), err));
    }
    return w->pulls ? kv_pull(c->kv, p, w->pushes ? c->step + 1 : c->step, err) : OK;
}

static void on_welcome(void *user, int32_t server, const Wire__Welcome *m)
{
    (void)user;
    (void)server;
    (void)m;
}

static void on_part(void *user, const kv_part *p)
{
    client *c = user;
    bench_worker *w = c->worker;
    memcpy(c->weights + w->flat->parts[p->part].begin, p->weights->data, p->weights->bytes);
    c->missing--;
    fail(w, worker_start_next(c, kv_server_of(c->kv, p->part), w->err));
}

static void on_gone(void *user, int32_t part, int64_t newest)
{
    client *c = user;
    fail(c->worker, FAIL(c->worker->err, E_PROTOCOL,
                         "part %" PRId32 " is at version %" PRId64 " already", part, newest));
}

static void on_refused(void *user, int32_t server, const wire_head *head, const Wire__Refused *m)
{
    client *c = user;
    fail(c->worker,
         FAIL(c->worker->err, E_PROTOCOL, "server %" PRId32 " refused %s of part %" PRId32 ": %s",
              server, wire_type_name(head->type), head->part, m->text));
}

/* Servers take no slot of which nothing is told. */
static status on_measured(void *user, kv_beside *b, error *err)
{
    const client *c = user;
    Wire__Report nothing = WIRE__REPORT__INIT;
    return kv_say_beside(b, b->push->step, c->slot, &nothing.base, err);
}

/* It stays the client's, and is pushed again as it is. */
static void grad_is_back(span *s)
{
    (void)s;
}

static void lend_grad(const flat *f, client *c)
{
    c->lent = xcalloc((size_t)f->n_parts, sizeof *c->lent);
    for (int32_t p = 0; p < f->n_parts; p++)
        c->lent[p] = (span){.floats = c->grad + f->parts[p].begin,
                            .bytes = (size_t)flat_part_elements(f, p) * sizeof(float),
                            .release = grad_is_back};
}

/* A push without a pull is bounded by its credit, the others by the window of start_pass. */
static status open_client(bench_worker *w, client *c, const char *const *endpoints, error *err)
{
    int index = (int)(c - w->clients);
    c->worker = w;
    c->slot = bench_load_slot(w->load, w->index, index);
    c->step = w->pushes ? -1 : 0; /* a pass begins with its number */
    void *grad = NULL, *weights = NULL;
    size_t bytes = (size_t)w->flat->n_elements * sizeof(float);
    TRY(mem_alloc(bytes, "gradients", &grad, err));
    c->grad = grad;
    TRY(mem_alloc(bytes, "weights", &weights, err));
    c->weights = weights;
    for (int64_t i = 0; i < w->flat->n_elements; i++)
        c->grad[i] = 1.0f;
    lend_grad(w->flat, c);
    TRY(kv_create(
        &(kv_options){
            .net = w->net,
            .servers = endpoints + bench_load_server(w->load, index),
            .n_servers = w->load->client_servers,
            .first_server = bench_load_server(w->load, index),
            .credit_bytes = (size_t)BENCH_IN_FLIGHT * (size_t)w->load->request.bytes,
            .hello = &w->hello,
            .hooks = {.welcome = on_welcome,
                      .part = on_part,
                      .gone = on_gone,
                      .refused = on_refused,
                      .measured = on_measured,
                      .user = c},
        },
        &c->kv, err));
    return kv_begin(c->kv, JOB, ERA, 1, w->flat, NULL, err);
}

static status open_all(bench_worker *w, const char *const *endpoints, error *err)
{
    hello_pack(
        &(hello_facts){
            .config = w->load->config,
            .task = {ROLE_WORKER, w->index},
            .life = hello_life(),
            .job_id = JOB,
            .lanes = 1,
        },
        &w->hello);
    TRY(bench_load_open_net(w->load, &w->net, err));
    for (int i = 0; i < w->load->n_clients; i++)
        TRY(open_client(w, &w->clients[i], endpoints, err));
    return OK;
}

static void close_all(bench_worker *w)
{
    for (int i = 0; i < w->load->n_clients; i++) {
        kv_destroy(&w->clients[i].kv);
    }
    net_destroy(&w->net); /* nothing is under way in the clients' memory after this */
    for (int i = 0; i < w->load->n_clients; i++) {
        free(w->clients[i].lent);
        mem_free(w->clients[i].grad);
        mem_free(w->clients[i].weights);
    }
    buf_fini(&w->hello);
    free(w->clients);
    free(w->sockets);
}

/* One pass of the client over its parts. */
static status start_pass(client *c, error *err)
{
    const bench_worker *w = c->worker;
    int window = w->pulls ? BENCH_IN_FLIGHT : w->flat->n_parts;
    c->passes--;
    c->missing = w->pulls ? w->flat->n_parts : 0;
    memset(c->next, 0, sizeof c->next);
    for (int32_t s = 0; s < w->load->client_servers; s++)
        for (int k = 0; k < window; k++)
            TRY(worker_start_next(c, s, err));
    return OK;
}

static bool is_under_way(const client *c)
{
    if (c->missing)
        return true;
    for (int32_t s = 0; c->worker->pushes && s < c->worker->load->client_servers; s++)
        if (kv_unacknowledged(c->kv, s))
            return true;
    return false;
}

/* Hears what has come for the client and begins its next pass when the last one is over. */
static status attend(client *c, bool *ret_busy, error *err)
{
    TRY(kv_serve(c->kv, err));
    TRY(c->worker->failed);
    *ret_busy = is_under_way(c);
    if (*ret_busy || !c->passes)
        return OK;
    c->step += c->worker->pushes;
    *ret_busy = true;
    return start_pass(c, err);
}

static status wait_for_any(bench_worker *w, error *err)
{
    int n = w->load->client_servers;
    for (int i = 0; i < w->load->n_clients; i++)
        memcpy(w->sockets + i * n, kv_sockets(w->clients[i].kv), (size_t)n * sizeof *w->sockets);
    return net_poll(w->sockets, (size_t)(w->load->n_clients * n), NULL, SILENCE_MS, err);
}

/* All the passes of every client. */
static status take_turn(bench_worker *w, error *err)
{
    for (int i = 0; i < w->load->n_clients; i++)
        w->clients[i].passes = w->passes;
    for (;;) {
        int n_busy = 0;
        for (int i = 0; i < w->load->n_clients; i++) {
            bool is_busy;
            TRY(attend(&w->clients[i], &is_busy, err));
            n_busy += is_busy;
        }
        if (!n_busy)
            return OK;
        TRY(wait_for_any(w, err));
    }
}

static status worker_measure(bench_worker *w, bench_page *page, error *err)
{
    bench_result *r = &page->results[w->index];
    double limit = w->load->request.seconds;
    int64_t begin = 0;
    for (int64_t turn = 0;; turn++) {
        if (turn == WARM_UP)
            begin = clock_us();
        TRY(take_turn(w, err));
        if (turn >= WARM_UP && w->index == 0 && (double)(clock_us() - begin) * 1e-6 >= limit)
            atomic_store(&page->last, turn);
        pthread_barrier_wait(&page->turn);
        if (turn < atomic_load(&page->last))
            continue;
        r->seconds = (double)(clock_us() - begin) * 1e-6;
        r->parts = (turn + 1 - WARM_UP) * w->passes * w->load->n_clients * w->flat->n_parts;
        return OK;
    }
}

/* A turn of small parts is made longer, so that the pause between turns does not count for much.
 * Not where only the end of a turn tells that the others have pushed too. */
static int passes_of(const bench_load *l)
{
    return l->is_small && l->request.traffic != BENCH_PUSH ? PARTS_WANTED : 1;
}

status bench_worker_run(const bench_load *l, int index, const char *const *endpoints,
                        bench_page *page, error *err)
{
    bench_worker w = {
        .load = l,
        .flat = l->flat,
        .index = index,
        .pushes = l->request.traffic != BENCH_PULL,
        .pulls = l->request.traffic != BENCH_PUSH,
        .passes = passes_of(l),
        .clients = xcalloc((size_t)l->n_clients, sizeof(client)),
        .sockets = xcalloc((size_t)(l->n_clients * l->client_servers), sizeof(net_socket *)),
        .err = err,
    };
    while (!atomic_load(&page->ready))
        usleep(1000);
    status st = open_all(&w, endpoints, err);
    if (st == OK)
        st = worker_measure(&w, page, err);
    close_all(&w);
    return st;
}
