/*
 * The cluster: data/cluster_vectors.json holds what launchers really write and every refusal with
 * its text; a row is an environment and what must come of it. Then the small parts by themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/base/rng.h"
#include "common/cluster/cluster.h"
#include "common/cluster/slurm.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {
    "TF_CONFIG",
    "CLUSTER_SPEC",
    "CLOUD_ML_TRIAL_ID",
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURMD_NODENAME",
    "TEQUIO_SLURM_JOBS",
    "TEQUIO_SLURM_PORT",
    "SM_HOSTS",
    "SM_CURRENT_HOST",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_USE_AGENT_STORE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "PMIX_RANK",
    "PMIX_NAMESPACE",
};

static const char *const origins[] = {"local", "tf_config", "vertex", "slurm", "sagemaker", "ranks"};

static void set_environment(const json_t *env)
{
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        unsetenv(variables[i]);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)env, name, value)
    {
        char *text = json_is_string(value) ? xstrdup(json_string_value(value))
                                           : json_dumps(value, JSON_COMPACT);
        setenv(name, text, 1);
        free(text);
    }
}

/* What follows a local name differs from launch to launch. */
static const char *meeting_of(const cluster *c)
{
    const char *text = c->world.meeting;
    return text && text[0] == '@' ? "@" : text;
}

/* The cluster as the expectation writes it, key by key. */
static json_t *seen(const cluster *c)
{
    char name[TASK_NAME];
    return json_pack(
        "{s:s, s:s, s:s?, s:i, s:i, s:i, s:i, s:b, s:i, s:b, s:b, s:b, s:b, s:b, s:s?, s:s?, s:s?, "
        "s:s?, s:s?, s:s?, s:s?, s:i, s:i}",
        "origin", origins[c->origin], "task", task_name(c->task, name), "address",
        cluster_address(c, c->task), "master", cluster_count(c, ROLE_MASTER), "worker",
        cluster_count(c, ROLE_WORKER), "ps", cluster_count(c, ROLE_PS), "evaluator",
        cluster_count(c, ROLE_EVALUATOR), "is_chief", c->is_chief, "global_id", c->global_id,
        "hosted_servers", c->hosted_servers, "master_is_worker", c->master_is_worker,
        "primary_called_master", c->primary_called_master, "sparse_worker",
        c->jobs[ROLE_WORKER].sparse, "sparse_ps", c->jobs[ROLE_PS].sparse, "environment",
        c->environment, "trial", c->trial, "job", c->job_json, "model_dir", c->model_dir,
        "by", c->world.by, "meeting", meeting_of(c), "overruled", c->overruled, "local_rank",
        c->world.local_rank, "local_size", c->world.local_size);
}

static void check_expectation(const char *id, const cluster *c, const json_t *expect)
{
    json_t *got = seen(c);
    assert_non_null(got);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)expect, key, value)
    {
        char *want_text = json_text(value), *got_text = json_text(json_object_get(got, key));
        if (strcmp(want_text, got_text) != 0)
            fail_msg("%s: %s is %s; expected %s", id, key, got_text, want_text);
        free(want_text);
        free(got_text);
    }
    json_decref(got);
}

static void check_row(const json_t *row)
{
    const char *id = json_string_value(json_object_get(row, "id"));
    const char *refusal = json_string_value(json_object_get(row, "error"));
    cluster *c = NULL;
    error err = ERROR_INIT;
    set_environment(json_object_get(row, "env"));
    status st = cluster_from_env(&c, &err);
    if (refusal) {
        if (st != E_CONFIG || strcmp(err.text, refusal) != 0)
            fail_msg("%s: %s: '%s'; expected the refusal '%s'", id, status_name(st), err.text,
                     refusal);
        assert_null(c);
        return;
    }
    if (st != OK)
        fail_msg("%s: %s", id, err.text);
    check_expectation(id, c, json_object_get(row, "expect"));
    cluster_destroy(&c);
    assert_null(c);
}

static void vectors_hold(void **state)
{
    (void)state;
    json_t *rows = NULL;
    error err = ERROR_INIT;
    if (json_read_file(TEST_DATA_DIR "/cluster_vectors.json", &rows, &err) != OK)
        fail_msg("%s", err.text);
    assert_true(json_array_size(rows) > 150);
    for (size_t i = 0; i < json_array_size(rows); i++)
        check_row(json_array_get(rows, i));
    set_environment(NULL);
    json_decref(rows);
}

static void every_index_of_a_cluster_gets_its_own_global_id(void **state)
{
    (void)state;
    static const char *const types[] = {"chief", "worker", "ps"};
    static const int counts[] = {1, 3, 2};
    bool taken[6] = {false};
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        for (int i = 0; i < counts[t]; i++) {
            char *text =
                xasprintf("{\"cluster\": {\"ps\": [\"d:1\", \"e:1\"], \"chief\": [\"a:1\"], "
                          "\"worker\": [\"b:1\", \"c:1\", \"f:1\"]}, "
                          "\"task\": {\"type\": \"%s\", \"index\": %d}}",
                          types[t], i);
            cluster *c = NULL;
            assert_int_equal(cluster_from_tf_config(text, &c, NULL), OK);
            assert_in_range(c->global_id, 0, 5);
            assert_false(taken[c->global_id]);
            taken[c->global_id] = true;
            cluster_destroy(&c);
            free(text);
        }
    }
}

static void local_needs_no_text(void **state)
{
    (void)state;
    cluster *c = NULL;
    assert_int_equal(cluster_from_tf_config(NULL, &c, NULL), OK);
    assert_int_equal(c->origin, CLUSTER_LOCAL);
    cluster_destroy(&c);
    assert_int_equal(cluster_local(&c, NULL), OK);
    assert_true(c->is_chief);
    assert_null(cluster_address(c, (task){ROLE_WORKER, 0}));
    assert_null(cluster_address(c, (task){ROLE_PS, 0}));
    assert_null(cluster_address(c, (task){ROLE_WORKER, -1}));
    assert_null(cluster_address(c, (task){ROLE_WORKER, 1}));
    cluster_destroy(&c);
    cluster_destroy(&c);
    cluster_destroy(NULL);
}

static void roles_have_names(void **state)
{
    (void)state;
    char name[TASK_NAME];
    role r = ROLE_COUNT;
    assert_string_equal(task_name((task){ROLE_WORKER, 3}, name), "worker.3");
    assert_string_equal(task_name((task){ROLE_EVALUATOR, 2147483647}, name),
                        "evaluator.2147483647");
    assert_true(role_of("chief", &r) && r == ROLE_MASTER);
    for (int i = 0; i < ROLE_COUNT; i++)
        assert_true(role_of(role_name((role)i), &r) && r == (role)i);
    r = ROLE_PS;
    assert_false(role_of("boss", &r));
    assert_int_equal(r, ROLE_PS);
}

static void addresses_are_split(void **state)
{
    (void)state;
    static const struct {
        const char *address, *host;
        int port;
        const char *refusal;
    } rows[] = {
        {"host:2222", "host", 2222, NULL},
        {"127.0.0.1:1", "127.0.0.1", 1, NULL},
        {"[::1]:65535", "::1", 65535, NULL},
        {"host", NULL, 0, "address 'host': expected host:port"},
        {":1", NULL, 0, "address ':1': expected host:port"},
        {"host:", NULL, 0, "address 'host:': expected host:port"},
        {"", NULL, 0, "address '': expected host:port"},
        {"host1:port", NULL, 0,
         "address 'host1:port': port 'port' is not a number from 1 to 65535"},
        {"h:0", NULL, 0, "address 'h:0': port '0' is not a number from 1 to 65535"},
        {"h:65536", NULL, 0, "address 'h:65536': port '65536' is not a number from 1 to 65535"},
        {"h:1x", NULL, 0, "address 'h:1x': port '1x' is not a number from 1 to 65535"},
        {"h:99999999999999999999", NULL, 0,
         "address 'h:99999999999999999999': port '99999999999999999999' is not a number from 1 to "
         "65535"},
        {"::1:22", NULL, 0, "address '::1:22': expected an IPv6 host in brackets, [::1]:port"},
        {"a-name-too-long:1", NULL, 0, "address 'a-name-too-long:1': host is longer than 11 bytes"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char host[12] = "untouched";
        int port = -1;
        error err = ERROR_INIT;
        status st = address_split(rows[i].address, host, sizeof host, &port, &err);
        assert_int_equal(st, rows[i].refusal ? E_CONFIG : OK);
        assert_string_equal(err.text, rows[i].refusal ? rows[i].refusal : "");
        assert_string_equal(host, rows[i].host ? rows[i].host : "untouched");
        assert_int_equal(port, rows[i].host ? rows[i].port : -1);
    }
}

static void node_lists_are_spelled_out(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"n[1-2],m5,o[3-4,6,7-9]",
         "[\"n1\",\"n2\",\"m5\",\"o3\",\"o4\",\"o6\",\"o7\",\"o8\",\"o9\"]"},
        {"n[08-11]", "[\"n08\",\"n09\",\"n10\",\"n11\"]"},
        {"a.b-c.d", "[\"a.b-c.d\"]"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        json_t *hosts = NULL;
        assert_int_equal(slurm_hosts(rows[i][0], &hosts, NULL), OK);
        char *text = json_dumps(hosts, JSON_COMPACT);
        assert_string_equal(text, rows[i][1]);
        free(text);
        json_decref(hosts);
    }
    static const char *const bad[] = {"",      ",",     "n1,", "n[]",    "n[a]",
                                      "n[1-]", "n[1]x", "n]",  "n[1-2]]"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        json_t *hosts = NULL;
        assert_int_equal(slurm_hosts(bad[i], &hosts, NULL), E_CONFIG);
        assert_null(hosts);
    }
}

static void node_list_errors_point_at_the_column(void **state)
{
    (void)state;
    json_t *hosts = NULL;
    error err = ERROR_INIT;
    assert_int_equal(slurm_hosts("ab[1-2]c", &hosts, &err), E_CONFIG);
    assert_string_equal(
        err.text, "SLURM_STEP_NODELIST: 'ab[1-2]c': column 8: expected host names as n[1-3,7],m5");
}

/* Random text never crashes the readers, and what they refuse has a message. */
static void random_text_is_refused_or_read(void **state)
{
    (void)state;
    static const char letters[] = "{}[]\":,0129-abtask cluster worker ps index type chief(x)";
    const rng r = rng_make(7, RNG_TEST, 1);
    uint64_t draw = 0;
    for (int i = 0; i < 5000; i++) {
        char text[48];
        size_t n = (size_t)rng_below(&r, draw++, sizeof text);
        for (size_t k = 0; k < n; k++)
            text[k] = letters[rng_below(&r, draw++, sizeof letters - 1)];
        text[n ? n - 1 : 0] = '\0';
        cluster *c = NULL;
        json_t *list = NULL;
        error err = ERROR_INIT;
        assert_true(cluster_from_tf_config(text, &c, &err) == OK || err.text[0]);
        cluster_destroy(&c);
        error_clear(&err);
        assert_true(slurm_hosts(text, &list, &err) == OK || err.text[0]);
        json_decref(list);
        list = NULL;
        error_clear(&err);
        assert_true(slurm_counts(text, &list, &err) == OK || err.text[0]);
        json_decref(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_hold),
        cmocka_unit_test(every_index_of_a_cluster_gets_its_own_global_id),
        cmocka_unit_test(local_needs_no_text),
        cmocka_unit_test(roles_have_names),
        cmocka_unit_test(addresses_are_split),
        cmocka_unit_test(node_lists_are_spelled_out),
        cmocka_unit_test(node_list_errors_point_at_the_column),
        cmocka_unit_test(random_text_is_refused_or_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
