#include "unit/ps/support_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/thread.h"
#include "optim/settings.h"
#include "support/folder.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const char text[] =
    "{train_data_path: 'x', model: {type: 'mlp'}, data_loader: {batch_size: 2}, random_seed: 77,"
    " trainer: {optimizer: {type: 'adam', lr: 0.01}}}";

static void folder_make(server *s)
{
    s->folder = folder_create();
    jobdir_request request = {.path = s->folder, .rule = JOBDIR_ESTIMATOR, .config = s->config};
    bool done = false;
    error err = ERROR_INIT;
    if (jobdir_prepare(&request, &s->dir, &done, &err) != OK)
        fail_msg("%s", err.text);
}

static int listening_socket(char *ret_endpoint, size_t bytes)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    snprintf(ret_endpoint, bytes, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

static void *run(void *arg)
{
    server *s = arg;
    s->outcome = ps_run(&s->options, &s->error);
    return NULL;
}

server *server_start(const char *setting)
{
    era_said = ERA;
    server *s = xcalloc(1, sizeof *s);
    const char *settings[] = {setting, NULL};
    error err = ERROR_INIT;
    if (config_load(&(config_source){.text = text, .settings = settings}, &s->config, &err) != OK)
        fail_msg("%s", err.text);
    folder_make(s);
    s->shape = shape_small(4);
    s->shape.optim = optim_settings(s->config);
    s->shape.rates = lr_settings(s->config, (training_span){.steps = TOTAL, .epoch_steps = TOTAL});
    assert_int_equal(net_create(&s->net, NULL), OK);
    s->endpoints[0] = "inproc://ps";
    s->endpoints[1] = s->tcp;
    s->options = (ps_options){
        .config = s->config,
        .self = {ROLE_PS, 1},
        .net = s->net,
        .endpoints = s->endpoints,
        .n_endpoints = 2,
        .listen_fd = listening_socket(s->tcp, sizeof s->tcp),
        .job_dir = s->folder,
        .stop = &s->stop,
        .abort = &s->abort,
    };
    assert_int_equal(thread_start(&s->thread, "ps.1", run, s, NULL), OK);
    return s;
}

status server_end(server *s)
{
    pthread_join(s->thread, NULL);
    return s->outcome;
}

void server_fini(server *s)
{
    net_destroy(&s->net);
    shape_fini(&s->shape);
    jobdir_close(&s->dir);
    config_destroy(&s->config);
    folder_destroy(&s->folder);
    free(s);
}

peer peer_dial(server *s, const char *endpoint)
{
    peer p = {.server = s, .head = {.job_id = JOB_ID, .era = ERA}};
    error err = ERROR_INIT;
    if (net_dial(s->net, endpoint, &p.socket, &err) != OK)
        fail_msg("%s", err.text);
    return p;
}

static void forget(peer *p)
{
    wire_free(p->message);
    free(p->floats);
    p->message = NULL;
    p->floats = NULL;
    p->n = 0;
}

void peer_close(peer *p)
{
    forget(p);
    net_close(&p->socket, 0);
}

void say(peer *p, wire_head h, const void *data, size_t bytes)
{
    unsigned char head[NET_HEAD];
    h.bytes = bytes;
    wire_head_encode(&h, head);
    span payload = span_for_call(data, bytes);
    assert_int_equal(net_send(p->socket, NULL, head, &payload, NULL), OK);
}

void say_proto(peer *p, wire_head h, const ProtobufCMessage *m)
{
    buf packed = BUF_INIT;
    wire_pack(m, &packed);
    say(p, h, packed.data, packed.size);
    buf_fini(&packed);
}

void say_hello(peer *p, role r, const config *c, const char *master_address)
{
    buf packed = BUF_INIT;
    hello_pack(&(hello_facts){.config = c,
                              .task = {r, 0},
                              .life = hello_life(),
                              .job_id = JOB_ID,
                              .master_address = master_address},
               &packed);
    wire_head h = r == ROLE_MASTER ? head_of(WIRE_HELLO, 0, 0) : (wire_head){.type = WIRE_HELLO};
    say(p, h, packed.data, packed.size);
    buf_fini(&packed);
}

static void say_setup_as(peer *p, uint32_t era, Wire__Setup m)
{
    const shape *s = &p->server->shape;
    Wire__Declaration declaration;
    wire_declaration_fill(s->flat, s->steps.examples, &s->steps.kinds, &declaration);
    m.declaration = &declaration;
    m.batch_size = s->steps.batch_size;
    m.batches_per_step = s->steps.per_step;
    m.total_steps = TOTAL;
    if (!m.keep)
        m.lineage = era;
    loss_scale_rule scaling = loss_scale_settings(p->server->config);
    m.loss_scale = loss_scale_pack(loss_scale_first(&scaling));
    say_proto(p, (wire_head){.type = WIRE_SETUP, .job_id = JOB_ID, .era = era}, &m.base);
    wire_declaration_clear(&declaration);
}

void say_setup(peer *p, uint32_t era, int64_t step, int32_t place, int32_t n_servers)
{
    Wire__Setup m = WIRE__SETUP__INIT;
    m.servers = (uint32_t)n_servers;
    m.server = (uint32_t)place;
    m.step = step;
    m.dir_token = (char *)(uintptr_t)jobdir_token(p->server->dir);
    say_setup_as(p, era, m);
}

void say_keep(peer *p, uint32_t era, uint32_t lineage)
{
    Wire__Setup m = WIRE__SETUP__INIT;
    m.servers = 1;
    m.keep = true;
    m.lineage = lineage;
    m.dir_token = (char *)(uintptr_t)jobdir_token(p->server->dir);
    say_setup_as(p, era, m);
}

void say_assignment(peer *p, const assignment *a)
{
    Wire__Setup m = WIRE__SETUP__INIT;
    Wire__Holders shards[2], *pointers[2] = {&shards[0], &shards[1]};
    for (int i = 0; i < 2; i++) {
        wire__holders__init(&shards[i]);
        shards[i].acting = (uint32_t)a->shards[i].acting;
        shards[i].has_standby = a->shards[i].standby != HOLDER_NONE;
        shards[i].standby = shards[i].has_standby ? (uint32_t)a->shards[i].standby : 0;
        shards[i].is_backed = a->shards[i].is_backed;
    }
    m.servers = 2;
    m.server = (uint32_t)a->place;
    m.keep = a->keep;
    m.lineage = a->lineage;
    m.shards = pointers;
    m.addresses = (char **)(uintptr_t)a->addresses;
    m.n_shards = m.n_addresses = 2;
    m.dir_token = (char *)(uintptr_t)jobdir_token(p->server->dir);
    say_setup_as(p, a->era, m);
}

void say_restore(peer *p, uint32_t era, int64_t step, const char *dir, const char *token)
{
    Wire__Setup m = WIRE__SETUP__INIT;
    m.servers = 1;
    m.step = step;
    m.restore_dir = (char *)(uintptr_t)dir;
    m.dir_token = (char *)(uintptr_t)(token ? token : jobdir_token(p->server->dir));
    say_setup_as(p, era, m);
}

void say_stop(peer *p, status code, const char *why)
{
    Wire__Stop m = WIRE__STOP__INIT;
    m.status = code;
    m.text = (char *)(uintptr_t)why;
    say_proto(p, (wire_head){.type = WIRE_STOP, .job_id = JOB_ID, .era = ERA}, &m.base);
}

static void keep(peer *p, const net_message *m)
{
    size_t bytes = span_bytes(m->payload);
    const void *data = span_data(m->payload);
    error err = ERROR_INIT;
    forget(p);
    if (wire_head_decode(m->head, bytes, &p->head, &err) != OK)
        fail_msg("the server says nonsense: %s", err.text);
    if (p->head.type == WIRE_PART) {
        p->n = bytes / sizeof(float);
        p->floats = xmalloc(bytes);
        memcpy(p->floats, data, bytes);
    } else if (wire_unpack(p->head.type, data, bytes, &p->message, NULL) != OK) {
        assert_int_equal(bytes, 0);
    }
}

static void hear_next(peer *p, wire_type type)
{
    int64_t until = clock_us() + 20000000;
    net_message m;
    while (!net_receive(p->socket, &m)) {
        net_event event;
        while (net_next_event(p->socket, &event))
            ;
        assert_int_equal(net_poll(&p->socket, 1, NULL, 100, NULL), OK);
        if (clock_us() > until)
            fail_msg("the server never said %s", wire_type_name(type));
    }
    keep(p, &m);
    span_drop(m.payload);
}

void hear(peer *p, wire_type type)
{
    do
        hear_next(p, type);
    while (p->head.type == WIRE_STATUS && type != WIRE_STATUS); /* said now and then, whatever else is */
    if (p->head.type != type)
        fail_msg("the server said %s, not %s", wire_type_name(p->head.type), wire_type_name(type));
}

void hear_nothing(peer *p)
{
    say(p, (wire_head){.type = WIRE_HEARTBEAT}, NULL, 0);
    hear(p, WIRE_ALIVE);
}

void server_set_up(server *s, peer *ret_master, peer *ret_worker)
{
    *ret_master = peer_dial(s, s->tcp);
    *ret_worker = peer_dial(s, s->endpoints[0]);
    say_hello(ret_master, ROLE_MASTER, s->config, "master:1");
    hear(ret_master, WIRE_WELCOME);
    say_setup(ret_master, ERA, 0, 0, 1);
    hear(ret_master, WIRE_READY);
    say_hello(ret_worker, ROLE_WORKER, s->config, NULL);
    hear(ret_worker, WIRE_WELCOME);
}

const Wire__Welcome *welcome_of(const peer *p)
{
    return (const Wire__Welcome *)p->message;
}

const Wire__Refused *refused_of(const peer *p)
{
    return (const Wire__Refused *)p->message;
}

uint32_t era_said = ERA;

wire_head head_of(wire_type type, int32_t part, int64_t step)
{
    return (wire_head){.type = type, .job_id = JOB_ID, .era = era_said, .part = part, .step = step};
}

void say_measured(peer *p, int64_t step, tree_node node)
{
    uint32_t n_slots = steps_slots(&p->server->shape.steps, step);
    wire_head h = head_of(WIRE_REPORT, 0, step);
    h.slots = n_slots;
    for (uint32_t i = tree_node_first(node); i < tree_node_end(node, n_slots); i++) {
        Wire__Report__Metric loss = WIRE__REPORT__METRIC__INIT, *metrics = &loss;
        Wire__Report m = WIRE__REPORT__INIT;
        loss.name = (char *)(uintptr_t) "loss";
        loss.sum = (double)step + i;
        loss.count = 1;
        m.metrics = &metrics;
        m.n_metrics = 1;
        m.examples = 1;
        h.node.index = i;
        say_proto(p, h, &m.base);
    }
}

void push(peer *p, int64_t step, tree_node node)
{
    say_measured(p, step, node);
    const shape *s = &p->server->shape;
    span *b = hand(s, 0, step, node, false);
    wire_head h = head_of(WIRE_PUSH, 0, step);
    h.slots = steps_slots(&s->steps, step);
    h.node = node;
    say(p, h, b->data, b->bytes);
    span_drop(b);
}

void hear_pushed(peer *p, int64_t step, tree_node node)
{
    hear(p, WIRE_PUSHED);
    assert_int_equal(p->head.step, step);
    assert_int_equal(p->head.node.level, node.level);
    assert_int_equal(p->head.node.index, node.index);
    assert_int_equal(p->head.job_id, JOB_ID);
}

void push_step(peer *p, int64_t step)
{
    for (uint32_t i = 0; i < steps_slots(&p->server->shape.steps, step); i++) {
        push(p, step, (tree_node){0, i});
        hear_pushed(p, step, (tree_node){0, i});
    }
}

void hear_weights(peer *p, const whole *w)
{
    hear(p, WIRE_PART);
    assert_int_equal(p->head.step, w->version);
    assert_int_equal(p->n, w->shape->flat->n_elements);
    assert_memory_equal(p->floats, w->weights, p->n * sizeof(float));
}

void check_weights(peer *p, const whole *w)
{
    say(p, head_of(WIRE_PULL, 0, w->version), NULL, 0);
    hear_weights(p, w);
}

void end_well(server *s, peer *master, peer *worker)
{
    say_stop(master, OK, "");
    assert_int_equal(server_end(s), OK);
    assert_string_equal(s->error.text, "");
    peer_close(master);
    peer_close(worker);
    server_fini(s);
}

void check_refused(peer *p, wire_head h, const void *data, size_t bytes, status code,
                   const char *why)
{
    say(p, h, data, bytes);
    hear(p, WIRE_REFUSED);
    assert_int_equal(refused_of(p)->status, code);
    assert_string_equal(refused_of(p)->text, why);
    assert_int_equal(p->head.era, era_said);
    assert_int_equal(p->head.part, h.part);
    assert_int_equal(p->head.step, h.step);
}
