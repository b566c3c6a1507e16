#include "worker/first_reading.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/read_progress.h"
#include "common/base/thread.h"
#include "common/wire/hello.h"
#include "worker/state.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct first_reading {
    worker *w;
    status (*work)(worker *w, error *err);
    read_progress *progress;
    atomic_bool is_over;
    status result;
    error why;
    master_link link;               /* of its own: what follows begins anew */
    bool asks_server;               /* the link is to a server, who may know the master's address... */
    int32_t next_server;
    char *master;                   /* ...which one has told; NULL: none has */
    int64_t began_us, said_us, dialled_us;
} first_reading;

enum { ASK_US = 3 * SECOND_US };

static void *read_data(void *arg)
{
    first_reading *r = arg;
    read_progress_enter(r->progress);
    r->result = r->work(r->w, &r->why);
    atomic_store(&r->is_over, true);
    net_waker_wake(r->w->waker);
    return NULL;
}

/* --- what is said and heard --- */

static status say_that_we_read(first_reading *r, error *err)
{
    const worker_options *o = r->w->o;
    read_state now;
    read_progress_look(r->progress, &now);
    buf_clear(&r->link.hello);
    hello_pack(
        &(hello_facts){
            .config = o->config,
            .task = o->self,
            .life = r->w->life,
            .trainer = o->trainer,
            .servers = (uint32_t)o->n_servers,
            .lanes = (uint32_t)o->n_lanes,
            .reads = now.text[0] ? now.text : "reading its data",
            .moves = now.moves,
        },
        &r->link.hello);
    return master_link_say_hello(&r->link, err);
}

/* Of a server; where it refuses us the master says why, or nobody does before all is read. */
static void take_address(first_reading *r, const Wire__Welcome *m)
{
    if (m->master_address[0] && !r->master)
        r->master = xasprintf("tcp://%s", m->master_address);
}

static status take(first_reading *r, const net_message *m, error *err)
{
    wire_head h;
    ProtobufCMessage *p = NULL;
    role from = r->asks_server ? ROLE_PS : ROLE_MASTER;
    size_t bytes = span_bytes(m->payload);
    if (wire_head_decode(m->head, bytes, &h, NULL) != OK || !wire_may_say(h.type, from, ROLE_WORKER) ||
        wire_unpack(h.type, span_data(m->payload), bytes, &p, NULL) != OK)
        return OK;
    status st = OK;
    if (r->asks_server && h.type == WIRE_WELCOME) {
        take_address(r, (const Wire__Welcome *)p);
    } else if (!r->asks_server && h.type == WIRE_REFUSED) {
        st = worker_take_refused(r->w, (const Wire__Refused *)p, err);
    } else if (!r->asks_server && h.type == WIRE_STOP) {
        worker_take_stop(r->w, (const Wire__Stop *)p);
        st = E_ABORTED; /* how it ended is kept there */
    }
    wire_free(p);
    return st;
}

static status listen_to_master(first_reading *r, error *err)
{
    net_event event;
    net_message m;
    status st = OK;
    while (st == OK && net_receive(r->link.socket, &m)) {
        st = take(r, &m, err);
        span_drop(m.payload);
    }
    while (st == OK && net_next_event(r->link.socket, &event)) {
        r->link.is_up = event.kind == NET_UP;
        st = r->link.is_up ? say_that_we_read(r, err) : master_link_dial(&r->link, r->link.endpoint, err);
    }
    return st;
}

/* --- until it is over --- */

static status check_end(const worker *w, error *err)
{
    if (w->o->abort && atomic_load(w->o->abort))
        return FAIL(err, E_ABORTED, "another role of this process failed");
    if (w->o->stop && atomic_load(w->o->stop))
        return FAIL(err, E_PREEMPTED, "preempted while it read its data");
    return OK;
}

/* The master or, where nobody has told its address, the next server. */
static status dial(first_reading *r, error *err)
{
    const worker_options *o = r->w->o;
    r->dialled_us = clock_us();
    const char *known = o->master ? o->master : r->master;
    r->asks_server = !known;
    const char *endpoint = known ? known : o->servers[r->next_server++ % o->n_servers];
    return master_link_dial(&r->link, endpoint, err);
}

/* Once a second, or so that a short start_timeout is not over in between. */
static int64_t pause_us(const worker *w)
{
    double quarter_us = config_f64(w->o->config, "distributed.start_timeout") * SECOND_US / 4;
    return quarter_us < SECOND_US ? (int64_t)quarter_us : SECOND_US;
}

/* What takes no second, as most does, is not spoken of. */
static status turn(first_reading *r, error *err)
{
    int64_t now = clock_us(), pause = pause_us(r->w);
    TRY(net_poll(&r->link.socket, r->link.socket ? 1 : 0, r->w->waker, TICK_MS, err));
    TRY(check_end(r->w, err));
    if (now - r->began_us < pause || (!r->w->o->master && !r->w->o->n_servers))
        return OK;
    if (!r->link.socket || (r->asks_server && (r->master || now - r->dialled_us > ASK_US)))
        return dial(r, err);
    TRY(listen_to_master(r, err));
    if (now - r->said_us < pause)
        return OK;
    r->said_us = now;
    return say_that_we_read(r, err);
}

status first_reading_run(worker *w, status (*work)(worker *w, error *err), error *err)
{
    first_reading r = {.w = w,
                       .work = work,
                       .progress = read_progress_create(),
                       .why = ERROR_INIT,
                       .link = {.net = w->o->net},
                       .began_us = clock_us()};
    pthread_t thread;
    status st = thread_start(&thread, log_task(), read_data, &r, err);
    bool has_thread = st == OK;
    while (st == OK && !atomic_load(&r.is_over))
        st = turn(&r, err);
    if (st != OK)
        read_progress_stop(r.progress);
    if (has_thread)
        pthread_join(thread, NULL);
    if (st == OK && r.result != OK)
        st = FAIL(err, r.result, "%s", r.why.text);
    master_link_fini(&r.link, 0);
    free(r.master);
    read_progress_destroy(&r.progress);
    return st;
}
