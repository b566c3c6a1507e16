/* A hello says who comes and with what; one that does not fit is refused by the key that differs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/net/strangers.h"
#include "common/wire/hello.h"
#include "unit/common/support_config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static Wire__Hello *hello_of(const hello_facts *facts)
{
    buf packed = BUF_INIT;
    ProtobufCMessage *m = NULL;
    hello_pack(facts, &packed);
    assert_int_equal(wire_unpack(WIRE_HELLO, packed.data, packed.size, &m, NULL), OK);
    buf_fini(&packed);
    return (Wire__Hello *)m;
}

static void test_facts_arrive(void **state)
{
    (void)state;
    config *c = config_load_text(config_smallest);
    Wire__Hello *m = hello_of(&(hello_facts){.config = c,
                                             .task = {ROLE_WORKER, 3},
                                             .life = 11,
                                             .job_id = 12,
                                             .fingerprint = "f32",
                                             .lanes = 4,
                                             .master_address = "10.0.0.1:2222",
                                             .flat_digest = "abc",
                                             .trainer = true});
    assert_int_equal(m->protocol, WIRE_PROTOCOL);
    assert_string_equal(m->role, "worker");
    assert_int_equal(m->index, 3);
    assert_int_equal(m->life, 11);
    assert_int_equal(m->job_id, 12);
    assert_string_equal(m->fingerprint, "f32");
    assert_int_equal(m->lanes, 4);
    assert_string_equal(m->master_address, "10.0.0.1:2222");
    assert_string_equal(m->flat_digest, "abc");
    assert_true(m->trainer);
    assert_int_equal(m->pid, getpid());
    task who;
    assert_int_equal(hello_check(m, c, (task){ROLE_PS, 1}, &who, NULL), OK);
    assert_int_equal(who.role, ROLE_WORKER);
    assert_int_equal(who.index, 3);
    assert_int_equal(hello_process(m, who).role, ROLE_MASTER);
    assert_int_equal(hello_process(m, who).index, 0);
    m->trainer = false;
    assert_int_equal(hello_process(m, who).role, ROLE_WORKER);
    assert_int_equal(hello_process(m, who).index, 3);
    wire_free(&m->base);
    config_destroy(&c);
}

static void test_what_is_not_said_is_empty(void **state)
{
    (void)state;
    config *c = config_load_text(config_smallest);
    Wire__Hello *m = hello_of(&(hello_facts){.config = c, .task = {ROLE_MASTER, 0}, .life = 1});
    assert_string_equal(m->fingerprint, "");
    assert_string_equal(m->master_address, "");
    assert_string_equal(m->flat_digest, "");
    wire_free(&m->base);
    config_destroy(&c);
}

static void check_refused(Wire__Hello *m, const config *c, status code, const char *text)
{
    task who = {ROLE_EVALUATOR, 9};
    error err = ERROR_INIT;
    assert_int_equal(hello_check(m, c, (task){ROLE_PS, 1}, &who, &err), code);
    if (!strstr(err.text, text))
        fail_msg("not in \"%s\": %s", err.text, text);
    assert_int_equal(who.index, 9);
}

static void test_the_key_that_differs_is_named_with_its_values(void **state)
{
    (void)state;
    config *ours = config_load_text(config_smallest);
    static const char *const settings[][2] = {
        {"random_seed=7", "'random_seed' is 7 there, 13370 here;"},
        {"data_loader.batch_size=16", "'data_loader.batch_size' is 16 there, 8 here;"},
        {"trainer.optimizer.lr=0.5", "'trainer.optimizer.lr' is 0.5 there, 0.001 here;"},
        {"trainer.freeze=[\"0123456789012345678901234567890123456789012345678901234567890\"]",
         "'trainer.freeze' is [\"0123456789012345678901234567890123456789012345... ("},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        config *theirs = config_load_set(config_smallest, settings[i][0]);
        Wire__Hello *m =
            hello_of(&(hello_facts){.config = theirs, .task = {ROLE_WORKER, 2}, .life = 1});
        check_refused(m, ours, E_CONFIG, settings[i][1]);
        check_refused(m, ours, E_CONFIG, "worker.2 on host ");
        check_refused(m, ours, E_CONFIG, "another configuration than ps.1: ");
        check_refused(m, ours, E_CONFIG, "start every task with the same one");
        wire_free(&m->base);
        config_destroy(&theirs);
    }
    config_destroy(&ours);
}

/* 200 layers, the last of so many features. */
static config *config_of_layers(int features)
{
    buf text = BUF_INIT;
    buf_adds(&text, "{train_data_path: 'x', data_loader: {batch_size: 8},"
                    " model: {type: 'sequential', layers: ['flatten'");
    for (int i = 1; i < 200; i++)
        buf_addf(&text, ", {type: 'linear', features: %d}", i < 199 ? i : features);
    buf_adds(&text, "]}}");
    config *c = config_load_text(text.data);
    buf_fini(&text);
    return c;
}

/* A hello fits into what a listener takes of strangers, however long the configuration. */
static void test_a_long_configuration(void **state)
{
    (void)state;
    config *ours = config_of_layers(10), *theirs = config_of_layers(11);
    hello_facts facts = {.config = theirs, .task = {ROLE_WORKER, 2}, .life = 1};
    Wire__Hello *m = hello_of(&facts);
    buf packed = BUF_INIT;
    hello_pack(&facts, &packed);
    assert_true(packed.size < STRANGER_BYTES * 3 / 4);
    check_refused(m, ours, E_CONFIG, "they differ in a key that comes late in a long one");
    check_refused(m, ours, E_CONFIG, "start every task with the same one");
    wire_free(&m->base);
    buf_fini(&packed);
    config_destroy(&theirs);
    config_destroy(&ours);
}

/* A list of servers that is swapped, or of another cluster. */
static void test_who_looks_for_another_server_is_refused(void **state)
{
    (void)state;
    config *c = config_load_text(config_smallest);
    Wire__Hello *m = hello_of(&(hello_facts){.config = c, .task = {ROLE_WORKER, 2}, .life = 1});
    error err = ERROR_INIT;
    wire_head said = {.type = WIRE_HELLO}, meant = said, other = said;
    wire_set_hello_server(&meant, 1);
    wire_set_hello_server(&other, 0);
    assert_int_equal(hello_check_server(m, &said, (task){ROLE_PS, 1}, NULL), OK);
    assert_int_equal(hello_check_server(m, &meant, (task){ROLE_PS, 1}, NULL), OK);
    assert_int_equal(hello_check_server(m, &other, (task){ROLE_PS, 1}, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "looks for ps.0 where ps.1 is: "));
    wire_free(&m->base);
    config_destroy(&c);
}

/* Where it runs is not what is trained. */
static void test_what_decides_no_result_may_differ(void **state)
{
    (void)state;
    config *ours = config_load_text(config_smallest);
    config *theirs = config_load_set(config_smallest, "distributed.heartbeat_timeout=3");
    Wire__Hello *m =
        hello_of(&(hello_facts){.config = theirs, .task = {ROLE_WORKER, 2}, .life = 1});
    task who;
    assert_int_equal(hello_check(m, ours, (task){ROLE_PS, 1}, &who, NULL), OK);
    wire_free(&m->base);
    config_destroy(&theirs);
    config_destroy(&ours);
}

static void test_strangers_are_refused(void **state)
{
    (void)state;
    config *c = config_load_text(config_smallest);
    Wire__Hello *m = hello_of(&(hello_facts){.config = c, .task = {ROLE_WORKER, 0}, .life = 1});
    char *named = m->role;
    m->protocol++;
    char versions[80];
    snprintf(versions, sizeof versions, "protocol %d is spoken there, %d here: use one version of",
             WIRE_PROTOCOL + 1, WIRE_PROTOCOL);
    check_refused(m, c, E_PROTOCOL, versions);
    m->protocol--;
    m->life = 0;
    check_refused(m, c, E_PROTOCOL, "a hello from no role of ours");
    m->life = 1;
    m->index = UINT32_MAX;
    check_refused(m, c, E_PROTOCOL, "a hello from no role of ours");
    m->index = 0;
    m->role = (char *)(uintptr_t) "janitor";
    check_refused(m, c, E_PROTOCOL, "a hello from no role of ours");
    m->role = named;
    wire_free(&m->base);

    /* a hello of which nothing was said at all */
    ProtobufCMessage *empty = NULL;
    assert_int_equal(wire_unpack(WIRE_HELLO, "", 0, &empty, NULL), OK);
    check_refused((Wire__Hello *)empty, c, E_PROTOCOL, "protocol 0 is spoken there");
    wire_free(empty);
    config_destroy(&c);
}

static void test_lives_differ(void **state)
{
    (void)state;
    uint64_t a = hello_life(), b = hello_life();
    assert_true(a && b && a != b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_arrive),
        cmocka_unit_test(test_what_is_not_said_is_empty),
        cmocka_unit_test(test_the_key_that_differs_is_named_with_its_values),
        cmocka_unit_test(test_a_long_configuration),
        cmocka_unit_test(test_who_looks_for_another_server_is_refused),
        cmocka_unit_test(test_what_decides_no_result_may_differ),
        cmocka_unit_test(test_strangers_are_refused),
        cmocka_unit_test(test_lives_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
