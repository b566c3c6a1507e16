/*
 * A server in its role: who may come in, what it answers and when, what it holds against one
 * process, what it ignores, and how it ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/rng.h"
#include "unit/ps/support_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const Wire__Welcome *welcome_of(const peer *p)
{
    return (const Wire__Welcome *)p->message;
}

static const Wire__Refused *refused_of(const peer *p)
{
    return (const Wire__Refused *)p->message;
}

static wire_head head_of(wire_type type, int32_t part, int64_t step)
{
    return (wire_head){.type = type, .job_id = JOB_ID, .era = ERA, .part = part, .step = step};
}

static void push(peer *p, int64_t step, tree_node node)
{
    const shape *s = &p->server->shape;
    fold_block *b = hand(s, 0, step, node, false);
    wire_head h = head_of(WIRE_PUSH, 0, step);
    h.slots = steps_slots(&s->steps, step);
    h.node = node;
    say(p, h, b->data, b->n * sizeof(float));
    b->release(b);
}

static void hear_pushed(peer *p, int64_t step, tree_node node)
{
    hear(p, WIRE_PUSHED);
    assert_int_equal(p->head.step, step);
    assert_int_equal(p->head.node.level, node.level);
    assert_int_equal(p->head.node.index, node.index);
    assert_int_equal(p->head.job_id, JOB_ID);
}

static void push_step(peer *p, int64_t step)
{
    for (uint32_t i = 0; i < steps_slots(&p->server->shape.steps, step); i++) {
        push(p, step, (tree_node){0, i});
        hear_pushed(p, step, (tree_node){0, i});
    }
}

static void hear_weights(peer *p, const whole *w)
{
    hear(p, WIRE_PART);
    assert_int_equal(p->head.step, w->version);
    assert_int_equal(p->n, w->shape->flat->n_elements);
    assert_memory_equal(p->floats, w->weights, p->n * sizeof(float));
}

static void check_weights(peer *p, const whole *w)
{
    say(p, head_of(WIRE_PULL, 0, w->version), NULL, 0);
    hear_weights(p, w);
}

static void end_well(server *s, peer *master, peer *worker)
{
    say_stop(master, OK, "");
    assert_int_equal(server_end(s), OK);
    assert_string_equal(s->error.text, "");
    peer_close(master);
    peer_close(worker);
    server_fini(s);
}

/* --- coming in --- */

static void test_another_configuration_is_refused(void **state)
{
    (void)state;
    server *s = server_start(NULL), *other = server_start("trainer.optimizer.lr=0.5");
    peer worker = peer_dial(s, s->tcp), master = peer_dial(other, other->tcp);
    say_hello(&worker, ROLE_WORKER, other->config, NULL);
    hear(&worker, WIRE_REFUSED);
    assert_int_equal(refused_of(&worker)->status, E_CONFIG);
    assert_non_null(strstr(refused_of(&worker)->text, "'trainer.optimizer.lr' differs"));
    say_hello(&worker, ROLE_WORKER, s->config, NULL); /* and with ours it is let in */
    hear(&worker, WIRE_WELCOME);
    /* a master that was refused is none: it cannot even stop us */
    say_hello(&worker, ROLE_MASTER, other->config, NULL);
    hear(&worker, WIRE_REFUSED);
    say_stop(&worker, OK, "");
    hear_nothing(&worker);
    atomic_store(&s->abort, true);
    atomic_store(&other->abort, true);
    assert_int_not_equal(server_end(s), OK);
    assert_int_not_equal(server_end(other), OK);
    peer_close(&worker);
    peer_close(&master);
    server_fini(s);
    server_fini(other);
}

static void test_the_masters_address_is_relayed(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master = peer_dial(s, s->endpoints[0]), worker = peer_dial(s, s->tcp);
    say_hello(&worker, ROLE_WORKER, s->config, NULL);
    hear(&worker, WIRE_WELCOME);
    assert_string_equal(welcome_of(&worker)->master_address, "");
    assert_false(welcome_of(&worker)->ready);
    uint64_t life = welcome_of(&worker)->life;
    assert_true(life != 0);
    say_hello(&master, ROLE_MASTER, s->config, "10.0.0.1:2222");
    hear(&master, WIRE_WELCOME);
    say_hello(&worker, ROLE_WORKER, s->config, NULL);
    hear(&worker, WIRE_WELCOME);
    assert_string_equal(welcome_of(&worker)->master_address, "10.0.0.1:2222");
    assert_false(welcome_of(&worker)->ready);
    say_setup(&master, ERA, 0, 0, 1);
    hear(&master, WIRE_READY);
    const Wire__Ready *ready = (const Wire__Ready *)master.message;
    assert_int_equal(ready->step, 0);
    assert_int_equal(ready->bytes, (size_t)s->shape.flat->n_elements * sizeof(float));
    assert_true(ready->sees_job_dir);
    say_hello(&worker, ROLE_WORKER, s->config, NULL);
    hear(&worker, WIRE_WELCOME);
    assert_true(welcome_of(&worker)->ready);
    assert_int_equal(welcome_of(&worker)->life, life);
    end_well(s, &master, &worker);
}

/* --- steps --- */

static void test_steps_of_two_workers(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, near, far = peer_dial(s, s->tcp);
    server_set_up(s, &master, &near);
    assert_true(welcome_of(&near)->ready);
    whole w = whole_make(&s->shape);
    check_weights(&near, &w);
    for (int64_t step = 0; step < 12; step++) {
        uint32_t n_slots = steps_slots(&s->shape.steps, step);
        tree_node left = {1, 0}, right = {1, 1};
        say(&near, head_of(WIRE_PULL, 0, step + 1), NULL, 0); /* before it is there */
        push(&near, step, left);
        hear_pushed(&near, step, left);
        hear_nothing(&near);
        push(&far, step, (tree_node){0, 2});
        hear_pushed(&far, step, (tree_node){0, 2});
        if (n_slots == 4) {
            push(&far, step, right); /* covers what it pushed before */
            hear_pushed(&far, step, right);
        }
        whole_step(&w, 1);
        hear_weights(&near, &w);
        check_weights(&far, &w);
        push(&near, step, left); /* again: taken long ago, and acknowledged */
        hear_pushed(&near, step, left);
    }
    /* one version back is there, two are not */
    say(&far, head_of(WIRE_PULL, 0, 11), NULL, 0);
    hear(&far, WIRE_PART);
    assert_int_equal(far.head.step, 11);
    say(&far, head_of(WIRE_PULL, 0, 10), NULL, 0);
    hear(&far, WIRE_GONE);
    assert_int_equal(far.head.step, 12);
    assert_int_equal(far.head.part, 0);
    assert_int_equal(far.head.tag, 10);
    whole_fini(&w);
    peer_close(&far);
    end_well(s, &master, &near);
}

/* A later wish replaces the one before, and whoever left waits no more. */
static void test_pulls_that_wait(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker, gone = peer_dial(s, s->tcp);
    server_set_up(s, &master, &worker);
    say(&worker, head_of(WIRE_PULL, 0, 1), NULL, 0);
    say(&worker, head_of(WIRE_PULL, 0, 2), NULL, 0);
    say(&gone, head_of(WIRE_PULL, 0, 1), NULL, 0);
    hear_nothing(&gone);
    peer_close(&gone);
    whole w = whole_make(&s->shape);
    whole_step(&w, 1);
    whole_step(&w, 1);
    push_step(&worker, 0);
    for (uint32_t i = 0; i < 4; i++)
        push(&worker, 1, (tree_node){0, i});
    for (uint32_t i = 0; i < 3; i++)
        hear_pushed(&worker, 1, (tree_node){0, i});
    hear_weights(&worker, &w);
    hear_pushed(&worker, 1, (tree_node){0, 3});
    whole_fini(&w);
    end_well(s, &master, &worker);
}

static void check_refused(peer *p, wire_head h, const void *data, size_t bytes, status code,
                          const char *why)
{
    say(p, h, data, bytes);
    hear(p, WIRE_REFUSED);
    assert_int_equal(refused_of(p)->status, code);
    assert_string_equal(refused_of(p)->text, why);
    assert_int_equal(p->head.era, ERA);
    assert_int_equal(p->head.part, h.part);
    assert_int_equal(p->head.step, h.step);
}

static void test_refusals(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    static const float four[4];
    wire_head older = head_of(WIRE_PUSH, 0, 0);
    older.era--;
    check_refused(&worker, older, four, sizeof four, OK, "another era");
    older.type = WIRE_PULL;
    older.era += 2;
    check_refused(&worker, older, NULL, 0, OK, "another era");
    check_refused(&worker, head_of(WIRE_PULL, 1, 0), NULL, 0, E_PROTOCOL,
                  "that part is not on this server");
    check_refused(&worker, head_of(WIRE_PULL, INT32_MAX, 0), NULL, 0, E_PROTOCOL,
                  "that part is not on this server");
    check_refused(&worker, head_of(WIRE_PUSH, 7, 0), four, sizeof four, E_PROTOCOL,
                  "part 7 is not trained on this server");
    check_refused(&worker, head_of(WIRE_PUSH, 0, 1), four, sizeof four, E_PROTOCOL,
                  "part 0: step 1 was pushed at version 0");
    wire_head h = head_of(WIRE_PUSH, 0, 0);
    h.slots = 4;
    check_refused(&worker, h, four, sizeof four, E_PROTOCOL,
                  "part 0: node (0,0) of 4 slots and 4 elements does not fit");
    /* of another job: a stranger, who gets no answer */
    h.job_id++;
    say(&worker, h, four, sizeof four);
    hear_nothing(&worker);
    end_well(s, &master, &worker);
}

/* Whatever a worker or a stranger says that is not theirs to say, nothing moves. */
static void test_what_is_ignored(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    say_setup(&worker, ERA + 1, 50, 0, 1);
    say_stop(&worker, OK, "go home");
    say(&worker, head_of(WIRE_VERDICT, 0, 0), NULL, 0);
    say(&worker, head_of(WIRE_CUT, 0, 0), NULL, 0);
    say(&worker, head_of(WIRE_WELCOME, 0, 0), NULL, 0);
    say(&worker, (wire_head){.type = WIRE_HELLO}, "\x12\x7f", 2);
    say(&master, head_of(WIRE_STOP, 0, 0), "\x12\x7f", 2);
    say(&master, head_of(WIRE_PUSH, 0, 0), "1234", 4);
    hear_nothing(&worker);
    hear_nothing(&master);
    rng r = rng_make(8, RNG_TEST, 0);
    for (uint64_t i = 0; i < 3000; i++) {
        unsigned char head[NET_HEAD], payload[40] = {0};
        wire_head h = head_of((wire_type)(1 + rng_below(&r, 8 * i, WIRE_TYPE_END)),
                              (int32_t)rng_below(&r, 8 * i + 1, 3), 5);
        h.bytes = rng_below(&r, 8 * i + 2, 10) * 4;
        h.era = 1000; /* so that no good push is among them */
        wire_head_encode(&h, head);
        if (i % 2)
            head[rng_below(&r, 8 * i + 3, NET_HEAD)] ^= (unsigned char)rng_u32(&r, 8 * i + 4);
        for (size_t k = 0; k < sizeof payload; k++)
            payload[k] = (unsigned char)rng_u32(&r, 30000 + 40 * i + k);
        net_buffer b = {.data = payload, .bytes = h.bytes};
        assert_int_equal(net_send(worker.socket, NULL, head, &b, NULL), OK);
    }
    peer fresh = peer_dial(s, s->tcp);
    hear_nothing(&fresh);
    whole w = whole_make(&s->shape);
    check_weights(&fresh, &w);
    push_step(&fresh, 0);
    whole_step(&w, 1);
    check_weights(&fresh, &w);
    whole_fini(&w);
    peer_close(&fresh);
    end_well(s, &master, &worker);
}

/* --- eras, cuts, votes --- */

static void test_a_new_era_begins_anew(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    whole w = whole_make(&s->shape);
    push_step(&worker, 0);
    push(&worker, 1, (tree_node){0, 0});
    hear_pushed(&worker, 1, (tree_node){0, 0});
    say(&worker, head_of(WIRE_PULL, 0, 2), NULL, 0);
    say_setup(&master, ERA - 1, 0, 0, 1);
    hear(&master, WIRE_REFUSED);
    assert_string_equal(refused_of(&master)->text, "an older era");
    say_setup(&master, ERA + 1, 0, 0, 1);
    hear(&master, WIRE_READY);
    assert_int_equal(master.head.era, ERA + 1);
    say(&worker, head_of(WIRE_PULL, 0, 0), NULL, 0);
    hear(&worker, WIRE_REFUSED);
    assert_int_equal(worker.head.era, ERA + 1);
    wire_head h = head_of(WIRE_PULL, 0, 0);
    h.era++;
    say(&worker, h, NULL, 0);
    hear_weights(&worker, &w);
    whole_fini(&w);
    end_well(s, &master, &worker);
}

static void say_cut(peer *master, uint32_t id, int64_t version)
{
    Wire__Cut m = WIRE__CUT__INIT;
    m.id = id;
    char dir[64];
    snprintf(dir, sizeof dir, "checkpoints/step-%09lld.tmp.%d", (long long)version, ERA);
    m.dir = dir;
    say_proto(master, head_of(WIRE_CUT, 0, version), &m.base);
}

static void test_cuts(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    say_cut(&master, 8, 2);
    hear_nothing(&master);
    push_step(&worker, 0);
    push_step(&worker, 1);
    hear(&master, WIRE_CUT_DONE);
    const Wire__CutDone *done = (const Wire__CutDone *)master.message;
    assert_int_equal(master.head.step, 2);
    assert_int_equal(done->id, 8);
    assert_int_equal(done->batches_applied, 8);
    assert_string_equal(done->file, "ps-0-of-1.safetensors");
    char *path = xasprintf("%s/checkpoints/step-000000002.tmp.3/%s", s->folder, done->file);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, done->bytes);
    free(path);
    say_cut(&master, 9, 1);
    hear(&master, WIRE_CUT_LATE);
    const Wire__CutLate *late = (const Wire__CutLate *)master.message;
    assert_int_equal(late->id, 9);
    assert_int_equal(late->newest, 2);
    end_well(s, &master, &worker);
}

/* What the master makes of the shard that CUT_DONE told of. */
static void commit(const server *s, const Wire__CutDone *done, int64_t step)
{
    manifest_shard shard = {.file = done->file, .bytes = done->bytes};
    memcpy(shard.sha256, done->sha256, sizeof shard.sha256);
    int32_t part_shard[] = {0};
    manifest m = {.step = step,
                  .batches_per_step = 4,
                  .flat = s->shape.flat,
                  .n_slots = optim_slots(&s->shape.optim),
                  .n_shards = 1,
                  .shards = &shard,
                  .part_shard = part_shard};
    for (size_t i = 0; i < m.n_slots; i++)
        m.slot_names[i] = (char *)(uintptr_t)optim_slot_name(&s->shape.optim, i);
    memset(m.config_digest, 'c', 64);
    flat_digest(s->shape.flat, m.flat_digest);
    error err = ERROR_INIT;
    if (checkpoint_commit(s->dir, ERA, &m, &err) != OK)
        fail_msg("%s", err.text);
}

static void test_restored_from_its_checkpoint(void **state)
{
    (void)state;
    const char *dir = "checkpoints/step-000000002";
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    say_cut(&master, 8, 2);
    whole w = whole_make(&s->shape);
    for (int64_t step = 0; step < 3; step++) {
        push_step(&worker, step);
        if (step < 2)
            whole_step(&w, 1);
    }
    hear(&master, WIRE_CUT_DONE);
    commit(s, (const Wire__CutDone *)master.message, 2);
    say_restore(&master, ERA, 2, dir, NULL);
    hear(&master, WIRE_READY);
    assert_int_equal(((const Wire__Ready *)master.message)->step, 2);
    check_weights(&worker, &w);
    push_step(&worker, 2);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    /* a checkpoint that is not what the master says it is */
    say_restore(&master, ERA, 3, dir, NULL);
    hear(&master, WIRE_FAILED);
    assert_int_equal(server_end(s), E_DATA);
    assert_string_equal(s->error.text, "restore step 3: 'checkpoints/step-000000002' is of another "
                                       "step, model or optimizer than what is trained");
    whole_fini(&w);
    peer_close(&master);
    peer_close(&worker);
    server_fini(s);
}

/* The vectors the server asks for, one by one, till it is ready. */
static void load_all(peer *master, const whole *w)
{
    const flat *f = w->shape->flat;
    for (uint64_t row = 0; row <= optim_slots(&w->shape->optim); row++) {
        hear(master, WIRE_LOAD);
        assert_int_equal(master->head.part, 0);
        assert_int_equal(master->head.tag, row);
        wire_head h = head_of(WIRE_LOADED, 0, 0);
        const float *values = row ? w->slots[row - 1] : w->weights;
        h.tag = row + 1; /* not what was asked for */
        say(master, h, values, (size_t)f->n_elements * sizeof(float));
        h.tag = row;
        say(master, h, values, (size_t)f->n_elements * sizeof(float));
    }
    hear(master, WIRE_READY);
}

static void fetch_shard(peer *master, uint32_t id, const char *digest)
{
    buf all = BUF_INIT;
    Wire__Shard ask = WIRE__SHARD__INIT;
    ask.id = id;
    size_t before;
    do {
        before = all.size;
        ask.offset = all.size;
        say_proto(master, head_of(WIRE_SHARD, 0, 0), &ask.base);
        hear(master, WIRE_SHARD);
        const Wire__Shard *piece = (const Wire__Shard *)master->message;
        assert_int_equal(piece->offset, all.size);
        buf_add(&all, piece->data.data, piece->data.len);
    } while (all.size > before);
    char hex[SHA256_HEX];
    sha256_hex(all.data, all.size, hex);
    assert_string_equal(hex, digest);
    buf_fini(&all);
    /* all was fetched: it is kept no longer */
    say_proto(master, head_of(WIRE_SHARD, 0, 0), &ask.base);
    hear(master, WIRE_REFUSED);
}

static void test_a_job_dir_it_does_not_see(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master = peer_dial(s, s->tcp), worker = peer_dial(s, s->tcp);
    whole w = whole_make(&s->shape);
    for (int i = 0; i < 3; i++)
        whole_step(&w, 1);
    say_hello(&master, ROLE_MASTER, s->config, NULL);
    hear(&master, WIRE_WELCOME);
    say_restore(&master, ERA, 3, "checkpoints/step-000000003", "of another dir");
    load_all(&master, &w);
    assert_false(((const Wire__Ready *)master.message)->sees_job_dir);
    check_weights(&worker, &w);
    push_step(&worker, 3);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    say_cut(&master, 8, 4);
    hear(&master, WIRE_CUT_DONE);
    const Wire__CutDone *done = (const Wire__CutDone *)master.message;
    assert_true(done->spooled);
    char digest[SHA256_HEX];
    snprintf(digest, sizeof digest, "%s", done->sha256);
    fetch_shard(&master, 8, digest);
    whole_fini(&w);
    end_well(s, &master, &worker);
}

static void test_the_vote(void **state)
{
    (void)state;
    server *s = server_start("trainer.grad_norm=1");
    peer master, worker;
    server_set_up(s, &master, &worker);
    whole w = whole_make(&s->shape);
    for (int64_t step = 0; step < 2; step++) {
        push_step(&worker, step);
        hear(&master, WIRE_NORM);
        assert_int_equal(master.head.step, step);
        assert_int_equal(master.head.part, 0);
        assert_true(((const Wire__Norm *)master.message)->square_sum > 0);
        check_weights(&worker, &w);
        say(&worker, head_of(WIRE_PULL, 0, step + 1), NULL, 0);
        hear_nothing(&worker);
        Wire__Verdict m = WIRE__VERDICT__INIT;
        m.scale = 0.5f;
        say_proto(&master, head_of(WIRE_VERDICT, 0, step), &m.base);
        whole_step(&w, 0.5f);
        hear_weights(&worker, &w);
    }
    whole_fini(&w);
    end_well(s, &master, &worker);
}

static void test_more_servers_than_parts(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master = peer_dial(s, s->tcp), worker = peer_dial(s, s->tcp);
    say_hello(&master, ROLE_MASTER, s->config, NULL);
    hear(&master, WIRE_WELCOME);
    say_setup(&master, ERA, 0, 1, 2);
    hear(&master, WIRE_READY);
    assert_int_equal(((const Wire__Ready *)master.message)->bytes, 0);
    check_refused(&worker, head_of(WIRE_PULL, 0, 0), NULL, 0, E_PROTOCOL,
                  "that part is not on this server");
    say_cut(&master, 8, 2);
    hear(&master, WIRE_CUT_DONE);
    assert_int_equal(((const Wire__CutDone *)master.message)->batches_applied, -1);
    end_well(s, &master, &worker);
}

/* --- ends --- */

static void test_the_master_stops_it(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    say_stop(&master, E_DATA, "worker.3: no such file");
    assert_int_equal(server_end(s), E_DATA);
    assert_string_equal(s->error.text, "stopped by the master: worker.3: no such file");
    peer_close(&master);
    peer_close(&worker);
    server_fini(s);
}

static void test_a_signal(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    atomic_store(&s->stop, true);
    hear(&master, WIRE_PREEMPT);
    push_step(&worker, 0); /* it goes on until it is told */
    say_stop(&master, E_PREEMPTED, "preempted");
    assert_int_equal(server_end(s), E_PREEMPTED);
    peer_close(&master);
    peer_close(&worker);
    server_fini(s);
}

static void check_bad_setup(Wire__Setup *m, const char *why)
{
    server *s = server_start(NULL);
    peer master = peer_dial(s, s->tcp);
    say_hello(&master, ROLE_MASTER, s->config, NULL);
    hear(&master, WIRE_WELCOME);
    Wire__Declaration declaration;
    wire_declaration_fill(s->shape.flat, 100, &declaration);
    if (m->declaration)
        m->declaration = &declaration;
    m->dir_token = (char *)(uintptr_t)jobdir_token(s->dir);
    say_proto(&master, (wire_head){.type = WIRE_SETUP, .job_id = JOB_ID, .era = ERA}, &m->base);
    hear(&master, WIRE_FAILED);
    const Wire__Stop *failed = (const Wire__Stop *)master.message;
    assert_int_equal(failed->status, server_end(s));
    assert_string_equal(failed->text, s->error.text);
    assert_string_equal(failed->task, "ps.1");
    assert_int_not_equal(s->outcome, OK);
    if (!strstr(s->error.text, why))
        fail_msg("'%s' does not say '%s'", s->error.text, why);
    wire_declaration_clear(&declaration);
    peer_close(&master);
    server_fini(s);
}

/* What the master demands and cannot be done ends the server, and the master hears why. */
static void test_setups_that_cannot_be(void **state)
{
    (void)state;
    Wire__Declaration any = WIRE__DECLARATION__INIT;
    Wire__Setup good = WIRE__SETUP__INIT, m;
    good.servers = 1;
    good.batch_size = 2;
    good.batches_per_step = 4;
    m = good;
    check_bad_setup(&m, "SETUP: a field is out of range");
    good.declaration = &any;
    m = good;
    m.server = 1;
    check_bad_setup(&m, "SETUP: a field is out of range");
    m = good;
    m.servers = UINT32_MAX;
    check_bad_setup(&m, "SETUP: a field is out of range");
    m = good;
    m.step = -1;
    check_bad_setup(&m, "SETUP: a field is out of range");
    m = good;
    m.batch_size = 0;
    check_bad_setup(&m, "SETUP: a field is out of range");
    m = good;
    m.batches_per_step = (int64_t)1 << 32;
    check_bad_setup(&m, "SETUP: a field is out of range");
    m = good;
    m.step = 7;
    m.restore_dir = (char *)(uintptr_t) "checkpoints/step-000000007";
    check_bad_setup(&m, "restore step 7: ");
}

static void test_no_master_comes(void **state)
{
    (void)state;
    server *s = server_start("distributed.start_timeout=1");
    assert_int_equal(server_end(s), E_LOST);
    assert_non_null(strstr(s->error.text, "no word from the master for 1 s"));
    server_fini(s);
}

static void test_left_at_once(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    peer master, worker;
    server_set_up(s, &master, &worker);
    for (uint32_t i = 0; i < 3; i++)
        push(&worker, 0, (tree_node){0, i});
    say(&worker, head_of(WIRE_PULL, 0, 1), NULL, 0);
    atomic_store(&s->abort, true);
    assert_int_not_equal(server_end(s), OK);
    peer_close(&master);
    peer_close(&worker);
    server_fini(s);
}

static int be_quiet(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_configuration_is_refused),
        cmocka_unit_test(test_the_masters_address_is_relayed),
        cmocka_unit_test(test_steps_of_two_workers),
        cmocka_unit_test(test_pulls_that_wait),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_what_is_ignored),
        cmocka_unit_test(test_a_new_era_begins_anew),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_restored_from_its_checkpoint),
        cmocka_unit_test(test_a_job_dir_it_does_not_see),
        cmocka_unit_test(test_the_vote),
        cmocka_unit_test(test_more_servers_than_parts),
        cmocka_unit_test(test_the_master_stops_it),
        cmocka_unit_test(test_a_signal),
        cmocka_unit_test(test_setups_that_cannot_be),
        cmocka_unit_test(test_no_master_comes),
        cmocka_unit_test(test_left_at_once),
    };
    return cmocka_run_group_tests(tests, be_quiet, NULL);
}
