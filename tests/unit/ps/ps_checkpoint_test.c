/* A server and checkpoints: cuts, restoring, and a job dir that it does not see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "unit/ps/support_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    hear_nothing(&master);
    whole w = whole_make(&s->shape);
    for (int64_t step = 0; step < 3; step++) {
        push_step(&worker, step);
        if (step < 2)
            whole_step(&w, 1);
    }
    hear(&master, WIRE_CUT_DONE);
    commit(s, (const Wire__CutDone *)master.message, 2);
    say_restore(&master, era_said = ERA + 1, 2, dir, NULL);
    hear(&master, WIRE_READY);
    assert_int_equal(((const Wire__Ready *)master.message)->step, 2);
    check_weights(&worker, &w);
    push_step(&worker, 2);
    whole_step(&w, 1);
    check_weights(&worker, &w);
    /* a checkpoint that is not what the master says it is */
    say_restore(&master, ERA + 2, 3, dir, NULL);
    hear(&master, WIRE_FAILED);
    assert_int_equal(server_end(s), E_DATA);
    assert_string_equal(s->error.text, "restore step 3: 'checkpoints/step-000000002' is of another "
                                       "step, model, optimizer or mode than what is "
                                       "trained");
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
    /* it is kept: the next master may ask from the beginning */
    ask.offset = 0;
    say_proto(master, head_of(WIRE_SHARD, 0, 0), &ask.base);
    hear(master, WIRE_SHARD);
    assert_true(((const Wire__Shard *)master->message)->data.len > 0);
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

static int be_quiet(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_restored_from_its_checkpoint),
        cmocka_unit_test(test_a_job_dir_it_does_not_see),
        cmocka_unit_test(test_more_servers_than_parts),
    };
    return cmocka_run_group_tests(tests, be_quiet, NULL);
}
