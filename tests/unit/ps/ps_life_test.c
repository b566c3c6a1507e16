/* How a server comes into a job and how it leaves it: who is let in, and who hears of its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/log.h"
#include "unit/ps/support_server.h"

#include <string.h>

static void test_another_configuration_is_refused(void **state)
{
    (void)state;
    server *s = server_start(NULL), *other = server_start("trainer.optimizer.lr=0.5");
    peer worker = peer_dial(s, s->tcp), master = peer_dial(other, other->tcp);
    say_hello(&worker, ROLE_WORKER, other->config, NULL);
    hear(&worker, WIRE_REFUSED);
    assert_int_equal(refused_of(&worker)->status, E_CONFIG);
    assert_non_null(strstr(refused_of(&worker)->text, "'trainer.optimizer.lr' is 0.5 there, 0."));
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

/* The master that says that SETUP; where it names a declaration, the server's own. */
static peer say_setup_of(server *s, Wire__Setup *m)
{
    peer master = peer_dial(s, s->tcp);
    say_hello(&master, ROLE_MASTER, s->config, NULL);
    hear(&master, WIRE_WELCOME);
    Wire__Declaration declaration;
    wire_declaration_fill(s->shape.flat, 100, &(steps_kinds){.n = 0}, &declaration);
    if (m->declaration)
        m->declaration = &declaration;
    m->dir_token = (char *)(uintptr_t)jobdir_token(s->dir);
    say_proto(&master, (wire_head){.type = WIRE_SETUP, .job_id = JOB_ID, .era = ERA}, &m->base);
    wire_declaration_clear(&declaration);
    return master;
}

static void check_bad_setup(Wire__Setup *m, const char *why)
{
    server *s = server_start(NULL);
    peer master = say_setup_of(s, m);
    hear(&master, WIRE_FAILED);
    const Wire__Stop *failed = (const Wire__Stop *)master.message;
    assert_int_equal(failed->status, server_end(s));
    assert_string_equal(failed->text, s->error.text);
    assert_string_equal(failed->task, "ps.1");
    assert_int_not_equal(s->outcome, OK);
    if (!strstr(s->error.text, why))
        fail_msg("'%s' does not say '%s'", s->error.text, why);
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
}

/* Others may see in the job dir what is not there yet for this host: the master is asked for it. */
static void test_a_checkpoint_out_of_sight(void **state)
{
    (void)state;
    Wire__Declaration any = WIRE__DECLARATION__INIT;
    Wire__Setup m = WIRE__SETUP__INIT;
    m.declaration = &any;
    m.servers = 1;
    m.batch_size = 2;
    m.batches_per_step = 4;
    m.step = 7;
    m.restore_dir = (char *)(uintptr_t) "checkpoints/step-000000007";
    server *s = server_start(NULL);
    peer master = say_setup_of(s, &m);
    hear(&master, WIRE_LOAD);
    say_stop(&master, E_PREEMPTED, "preempted");
    assert_int_equal(server_end(s), E_PREEMPTED);
    peer_close(&master);
    server_fini(s);
}

static void test_no_master_comes(void **state)
{
    (void)state;
    server *s = server_start("distributed.start_timeout=1");
    assert_int_equal(server_end(s), E_LOST);
    assert_non_null(strstr(s->error.text, "no word from the master for "));
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
        cmocka_unit_test(test_the_master_stops_it),
        cmocka_unit_test(test_a_signal),
        cmocka_unit_test(test_setups_that_cannot_be),
        cmocka_unit_test(test_a_checkpoint_out_of_sight),
        cmocka_unit_test(test_no_master_comes),
        cmocka_unit_test(test_left_at_once),
    };
    return cmocka_run_group_tests(tests, be_quiet, NULL);
}
