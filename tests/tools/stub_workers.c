/*
 * Many workers in one process that do nothing but live: each says hello to a master with a life of
 * its own and then a heartbeat once a second.
 *
 *   stub_workers CONFIG HOST:PORT WORKERS SECONDS
 *
 * Each declares a small model, so that a master with its servers begins to run. Once all are in and
 * a view has come, it prints "running"; after SECONDS more it prints, as JSON, how many heartbeats
 * were said and answered in them. Ends with 1 when not all are in within a minute.
 */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/wire/hello.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_NET = 128, SECOND_US = 1000000, START_US = 60 * SECOND_US, PAUSE_MS = 10 };

typedef struct stub {
    net_socket *socket;
    buf hello;
    wire_head identity;
    bool welcomed;
    int64_t next_us;
} stub;

typedef struct stubs {
    stub *at;
    size_t n, n_welcomed;
    bool has_view;
    int64_t said, answered;
    net *nets[64];
} stubs;

static void check(status st, const error *err)
{
    if (st == OK)
        return;
    fprintf(stderr, "stub_workers: %s\n", err->text);
    exit(1);
}

static void say(const stub *s, wire_type type, int64_t step, const buf *payload)
{
    unsigned char head[NET_HEAD];
    wire_head h = s->identity;
    h.type = type;
    h.step = step;
    h.bytes = payload ? payload->size : 0;
    wire_head_encode(&h, head);
    span b = span_for_call(payload ? payload->data : NULL, h.bytes);
    error err = ERROR_INIT;
    check(net_send(s->socket, NULL, head, &b, &err), &err);
}

static void stubs_dial(stubs *all, const config *c, const char *endpoint)
{
    error err = ERROR_INIT;
    int64_t now = clock_us();
    for (size_t i = 0; i < all->n; i++) {
        stub *s = &all->at[i];
        if (i % PER_NET == 0)
            check(net_create(&all->nets[i / PER_NET], &err), &err);
        check(net_dial(all->nets[i / PER_NET], endpoint, &s->socket, &err), &err);
        hello_pack(&(hello_facts){.config = c,
                                  .task = {ROLE_WORKER, (int32_t)i},
                                  .life = hello_life(),
                                  .fingerprint = "a stub",
                                  .lanes = 1},
                   &s->hello);
        s->next_us = now + (int64_t)(i * SECOND_US / all->n);
    }
}

static void declare(const stub *s)
{
    const tensor_decl tensor = {.name = "w", .rank = 1, .dim = {1000}};
    flat *f = NULL;
    error err = ERROR_INIT;
    Wire__Declaration m;
    buf packed = BUF_INIT;
    check(flat_create(&tensor, 1, &f, &err), &err);
    wire_declaration_fill(f, 1000000, &(steps_kinds){.n = 0}, &m);
    wire_pack(&m.base, &packed);
    say(s, WIRE_DECLARE, 0, &packed);
    buf_fini(&packed);
    wire_declaration_clear(&m);
    flat_destroy(&f);
}

static void take(stubs *all, stub *s, const net_message *m)
{
    wire_head h;
    if (wire_head_decode(m->head, span_bytes(m->payload), &h, NULL) != OK)
        return;
    if (h.type == WIRE_REFUSED) {
        fprintf(stderr, "stub_workers: refused\n");
        exit(1);
    }
    all->answered += h.type == WIRE_ALIVE;
    all->has_view |= h.type == WIRE_VIEW;
    s->identity.job_id = h.job_id;
    s->identity.era = h.type == WIRE_VIEW ? h.era : s->identity.era;
    if (h.type != WIRE_WELCOME || s->welcomed)
        return;
    s->welcomed = true;
    all->n_welcomed++;
    declare(s);
}

static void turn(stubs *all)
{
    poll(NULL, 0, PAUSE_MS);
    int64_t now = clock_us();
    for (size_t i = 0; i < all->n; i++) {
        stub *s = &all->at[i];
        net_message m;
        while (net_receive(s->socket, &m)) {
            take(all, s, &m);
            span_drop(m.payload);
        }
        if (now < s->next_us)
            continue;
        s->next_us += SECOND_US;
        all->said += s->welcomed;
        if (s->welcomed)
            say(s, WIRE_HEARTBEAT, 1, NULL); /* version 0 is held */
        else
            say(s, WIRE_HELLO, 0, &s->hello);
    }
}

static void turn_until(stubs *all, int64_t until_us)
{
    while (clock_us() < until_us)
        turn(all);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    config *c = NULL;
    error err = ERROR_INIT;
    stubs all = {.n = (size_t)atoi(argv[3])};
    if (!all.n || all.n > COUNT_OF(all.nets) * PER_NET)
        return 2;
    all.at = xcalloc(all.n, sizeof *all.at);
    check(config_load(&(config_source){.path = argv[1]}, &c, &err), &err);
    char *endpoint = xasprintf("tcp://%s", argv[2]);
    stubs_dial(&all, c, endpoint);
    int64_t begin = clock_us();
    while (all.n_welcomed < all.n || !all.has_view) {
        if (clock_us() > begin + START_US) {
            fprintf(stderr, "stub_workers: %zu of %zu are in\n", all.n_welcomed, all.n);
            return 1;
        }
        turn(&all);
    }
    turn_until(&all, clock_us() + 2 * SECOND_US); /* all have heard of all */
    puts("running");
    fflush(stdout);
    all.said = all.answered = 0;
    turn_until(&all, clock_us() + atoi(argv[4]) * (int64_t)SECOND_US);
    printf("{\"workers\": %zu, \"said\": %lld, \"answered\": %lld}\n", all.n, (long long)all.said,
           (long long)all.answered);
    return 0;
}
