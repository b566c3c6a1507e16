#include "unit/kv/support_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/parts/placement.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what the kv tells --- */

static void on_welcome(void *user, int32_t server, const Wire__Welcome *m)
{
    answer *a = user;
    assert_in_range(server, 0, SERVERS - 1);
    assert_string_equal(m->master_address, "here:1");
    a->n_welcomes++;
}

static void on_part(void *user, const kv_part *p)
{
    answer *a = user;
    assert_int_equal(span_n(p->weights), PART_N);
    a->n_parts++;
    a->part = p->part;
    a->version = p->version;
    a->first = p->weights->floats[0];
    a->scale = p->scale;
}

static void on_gone(void *user, int32_t part, int64_t newest)
{
    answer *a = user;
    a->n_gone++;
    a->part = part;
    a->version = newest;
}

static void on_refused(void *user, int32_t server, const wire_head *head, const Wire__Refused *m)
{
    answer *a = user;
    (void)server;
    assert_string_equal(m->text, "no");
    a->n_refused++;
    a->part = head->part;
}

static void on_taken(void *user, const kv_taking *t)
{
    answer *a = user;
    a->n_taken++;
    a->taking = *t;
}

/* --- the scene --- */

void listen_at(scene *s, int i, const char *endpoint)
{
    error err = ERROR_INIT;
    if (net_listen(s->net, &endpoint, 1, -1, &s->listener[i], &err) != OK)
        fail_msg("%s", err.text);
    snprintf(s->endpoint[i], sizeof s->endpoint[i], "%s", net_endpoint(s->listener[i]));
}

static flat *flat_of_parts(void)
{
    tensor_decl d = {.name = "w", .rank = 2, .dim = {PARTS, PART_N}};
    flat *f = NULL;
    assert_int_equal(flat_create(&d, 1, &f, NULL), OK);
    assert_int_equal(f->n_parts, PARTS);
    return f;
}

scene *scene_make(const char *endpoint, size_t credit_bytes)
{
    scene *s = xcalloc(1, sizeof *s);
    assert_int_equal(net_create(&s->net, NULL), OK);
    const char *endpoints[SERVERS];
    for (int i = 0; i < SERVERS; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%d", endpoint, i);
        listen_at(s, i, endpoint[0] == 't' ? endpoint : name);
        endpoints[i] = s->endpoint[i];
    }
    s->flat = flat_of_parts();
    placement_deal(s->flat, SERVERS, s->placement);
    buf_adds(&s->hello, "good day");
    kv_options options = {
        .net = s->net,
        .servers = endpoints,
        .n_servers = SERVERS,
        .credit_bytes = credit_bytes,
        .hello = &s->hello,
        .hooks = {on_welcome, on_part, on_gone, on_refused, &s->answer, .taken = on_taken},
    };
    assert_int_equal(kv_create(&options, &s->kv, NULL), OK);
    for (int p = 0; p < PARTS; p++)
        s->pushes[p].data = xcalloc(PART_N, sizeof(float));
    return s;
}

static void give_back(span *s)
{
    push *p = s->owner;
    if (s->data != p->data)
        abort();
    atomic_fetch_add(&p->n_back, 1);
}

span *lend(push *p)
{
    p->span = (span){.data = p->data,
                     .bytes = PART_N * sizeof(float),
                     .refs = 1,
                     .release = give_back,
                     .owner = p};
    return &p->span;
}

void wait_back(const push *p)
{
    int64_t until = clock_us() + LIMIT_US;
    while (!atomic_load(&p->n_back)) {
        assert_true(clock_us() < until);
        sched_yield();
    }
    assert_int_equal(atomic_load(&p->n_back), 1);
}

void scene_fini(scene *s)
{
    kv_destroy(&s->kv);
    assert_null(s->kv);
    for (int i = 0; i < SERVERS; i++)
        net_close(&s->listener[i], 0);
    net_destroy(&s->net);
    for (int p = 0; p < PARTS; p++)
        free(s->pushes[p].data);
    flat_destroy(&s->flat);
    buf_fini(&s->hello);
    free(s);
}

/* --- the servers' side --- */

void say(scene *s, int i, wire_head h, const void *data, size_t bytes)
{
    unsigned char head[NET_HEAD];
    h.bytes = bytes;
    wire_head_encode(&h, head);
    span payload = span_for_call(data, bytes);
    assert_int_equal(net_send(s->listener[i], &s->peer[i], head, &payload, NULL), OK);
}

void say_proto(scene *s, int i, wire_head h, const ProtobufCMessage *m)
{
    buf packed = BUF_INIT;
    wire_pack(m, &packed);
    say(s, i, h, packed.data, packed.size);
    buf_fini(&packed);
}

wire_head head_of(wire_type type, int32_t part, int64_t step)
{
    return (wire_head){.type = type, .job_id = job_id, .era = era, .part = part, .step = step};
}

void say_part(scene *s, int i, wire_head h, float first)
{
    float *data = xcalloc(PART_N, sizeof *data);
    data[0] = first;
    say(s, i, h, data, PART_N * sizeof *data);
    free(data);
}

void welcome(scene *s, int i, bool ready)
{
    Wire__Welcome m = WIRE__WELCOME__INIT;
    m.ready = ready;
    m.master_address = (char *)(uintptr_t) "here:1";
    say_proto(s, i, (wire_head){.type = WIRE_WELCOME}, &m.base);
}

void serve(scene *s)
{
    error err = ERROR_INIT;
    if (kv_serve(s->kv, &err) != OK)
        fail_msg("%s", err.text);
}

/* What server `i` hears next; false when there is nothing for a while. */
bool hear(scene *s, int i, int ms, wire_head *ret, float *ret_first)
{
    int64_t until = clock_us() + ms * 1000;
    do {
        serve(s);
        net_message m;
        if (net_receive(s->listener[i], &m)) {
            size_t bytes = span_bytes(m.payload);
            assert_int_equal(wire_head_decode(m.head, bytes, ret, NULL), OK);
            assert_true(wire_may_say(ret->type, ROLE_WORKER, ROLE_PS));
            if (ret->type == WIRE_HELLO)
                assert_memory_equal(span_data(m.payload), "good day", 8);
            if (ret->type == WIRE_PUSH && ret_first)
                *ret_first = *(const float *)span_data(m.payload);
            s->peer[i] = m.from;
            span_drop(m.payload);
            return true;
        }
        net_event event;
        while (net_next_event(s->listener[i], &event))
            ;
        net_socket *const *dials = kv_sockets(s->kv);
        net_socket *all[] = {dials[0], dials[1], s->listener[0], s->listener[1]};
        assert_int_equal(net_poll(all, 4, NULL, 5, NULL), OK);
    } while (clock_us() < until);
    return false;
}

wire_head expect(scene *s, int i, wire_type type)
{
    wire_head h = {.type = WIRE_TYPE_END};
    if (!hear(s, i, LIMIT_US / 1000, &h, NULL) || h.type != type)
        fail_msg("server %d heard %s, wanted %s", i, wire_type_name(h.type), wire_type_name(type));
    return h;
}

/* Everything said up to here has been taken: a heartbeat comes back behind it. */
void expect_nothing(scene *s, int i)
{
    assert_int_equal(kv_tick(s->kv, NULL), OK);
    wire_head h = expect(s, i, kv_server_is_up(s->kv, i) ? WIRE_HEARTBEAT : WIRE_HELLO);
    (void)h;
    wire_head other;
    for (int k = 0; k < SERVERS; k++) /* the other's too */
        while (k != i && hear(s, k, 1, &other, NULL))
            assert_true(other.type == WIRE_HEARTBEAT || other.type == WIRE_HELLO);
}

void begin(scene *s, uint32_t in_era, const flat *f)
{
    assert_int_equal(kv_begin(s->kv, job_id, in_era, incarnation, f, s->acting, NULL), OK);
}

void greet(scene *s)
{
    for (int i = 0; i < SERVERS; i++) {
        expect(s, i, WIRE_HELLO);
        welcome(s, i, true);
    }
    SERVE_UNTIL(s, kv_server_is_up(s->kv, 0) && kv_server_is_up(s->kv, 1));
    begin(s, era, s->flat);
}

void do_push(scene *s, int32_t part, int64_t step)
{
    push *p = &s->pushes[part];
    p->data[0] = (float)part;
    assert_int_equal(kv_push(s->kv, part, step, 4, (tree_node){1, 1}, lend(p), NULL), OK);
}

void pushed(scene *s, int i, wire_head h)
{
    h.type = WIRE_PUSHED;
    h.flags = 0;
    wire_set_pushed_server_us(&h, SERVER_US);
    say(s, i, h, NULL, 0);
}

/* Parts of one server, in order. */
void parts_of(const scene *s, int i, int32_t ret[PARTS])
{
    int n = 0;
    for (int32_t p = 0; p < PARTS; p++)
        if (s->placement[p] == i)
            ret[n++] = p;
    assert_int_equal(n, PARTS / SERVERS);
}

scene *scene_greeted(size_t credit_bytes, int32_t of[PARTS])
{
    scene *s = scene_make("tcp://127.0.0.1:0", credit_bytes);
    greet(s);
    parts_of(s, 0, of);
    return s;
}
