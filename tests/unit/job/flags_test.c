/* gcloud's flags over a job file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/spec/flags.h"

#include <inttypes.h>
#include <string.h>

enum { PAIRS = 16 };

typedef struct line {
    const char *pair[PAIRS][2];
} line;

static const char *value_in(const void *user, const char *name)
{
    const line *l = user;
    for (int i = 0; i < PAIRS && l->pair[i][0]; i++)
        if (strcmp(l->pair[i][0], name) == 0)
            return l->pair[i][1];
    return NULL;
}

static status job_of(const char *file, const line *l, const char *const *args, arena *memory,
                     job *ret, error *err)
{
    doc_node *top = NULL;
    assert_int_equal(document_read(file, strlen(file), "job.yaml", memory, &top, NULL), OK);
    return flags_job(top, value_in, l, NULL, args, memory, ret, err);
}

static void flags_alone_make_a_job(void **state)
{
    (void)state;
    static const line l = {{{"scale-tier", "custom"},
                            {"master-machine-type", "n1-highcpu-16"},
                            {"master-accelerator", "count=4,type=nvidia-tesla-t4"},
                            {"worker-count", "9"},
                            {"worker-machine-type", "n1-highcpu-16"},
                            {"worker-accelerator", "type=nvidia-tesla-t4,count=4"},
                            {"parameter-server-count", "3"},
                            {"parameter-server-machine-type", "n1-highmem-8"},
                            {"region", "us-central1"},
                            {"labels", "phase=test,owner=me"},
                            {"use-chief-in-tf-config", "false"},
                            {"job-dir", "runs/a"}}};
    static const char *const args[] = {"cnn.jsonnet", "-o", "{}", NULL};
    arena *memory = arena_create();
    job j;
    error err = ERROR_INIT;
    assert_int_equal(job_of("", &l, args, memory, &j, &err), OK);
    assert_int_equal(job_tasks(&j), 13);
    assert_int_equal(job_gpus(&j), 40);
    assert_string_equal(j.job_dir, "runs/a");
    assert_string_equal(document_get(j.labels, "owner")->text, "me");
    assert_false(j.calls_chief);
    assert_string_equal(j.pools[ROLE_PS].args[1], "-o");
    assert_null(j.pools[ROLE_PS].args[3]);
    arena_destroy(&memory);
}

/* As people write them: gcloud takes them all. */
static void words_are_taken_in_any_spelling(void **state)
{
    (void)state;
    static const line lines[] = {
        {{{"scale-tier", "CUSTOM"},
          {"master-machine-type", "N1-Standard-8"},
          {"master-accelerator", "count=1,type=NVIDIA_TESLA_T4"},
          {"use-chief-in-tf-config", "False"}}},
        {{{"scale-tier", "Custom"},
          {"master-machine-type", "n1-standard-8"},
          {"master-accelerator", "count=1,type=Nvidia-Tesla_t4"},
          {"use-chief-in-tf-config", "NO"}}},
    };
    arena *memory = arena_create();
    job j;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        assert_int_equal(job_of("", &lines[i], NULL, memory, &j, NULL), OK);
        assert_string_equal(j.tier, "CUSTOM");
        assert_string_equal(j.pools[ROLE_MASTER].machine_type, "n1-standard-8");
        assert_int_equal(j.pools[ROLE_MASTER].gpu_type, gpu_type_find("NVIDIA_TESLA_T4"));
        assert_false(j.calls_chief);
    }
    static const line basic = {{{"scale-tier", "BASIC_GPU"}}};
    assert_int_equal(job_of("", &basic, NULL, memory, &j, NULL), OK);
    assert_string_equal(j.tier, "BASIC_GPU");
    static const line lone = {{{"scale-tier", "CUSTOM"}}};
    assert_int_equal(job_of("", &lone, NULL, memory, &j, NULL), E_USAGE);
    arena_destroy(&memory);
}

static void a_flag_replaces_its_field_alone(void **state)
{
    (void)state;
    static const char file[] = "training_input:\n"
                               "  scale_tier: CUSTOM\n"
                               "  master_type: n1-standard-8\n"
                               "  master_config: &c {accelerator_config: {count: 1, type: "
                               "NVIDIA_TESLA_T4}, image_uri: old}\n"
                               "  worker_type: n1-standard-8\n"
                               "  worker_count: 1\n"
                               "  worker_config: *c\n"
                               "  args: [a.jsonnet]\n";
    static const line l = {{{"master-accelerator", "count=2,type=nvidia-tesla-v100"},
                            {"worker-image-uri", "new"}}};
    arena *memory = arena_create();
    job j;
    assert_int_equal(job_of(file, &l, NULL, memory, &j, NULL), OK);
    assert_int_equal(j.pools[ROLE_MASTER].gpus, 2);
    assert_string_equal(machines_all()->gpu[j.pools[ROLE_MASTER].gpu_type], "NVIDIA_TESLA_V100");
    assert_string_equal(j.pools[ROLE_MASTER].image, "old");
    assert_int_equal(j.pools[ROLE_WORKER].gpus, 1); /* of the same anchor, and yet its own */
    assert_string_equal(j.pools[ROLE_WORKER].image, "new");
    assert_string_equal(j.pools[ROLE_WORKER].args[0], "a.jsonnet");
    arena_destroy(&memory);
}

static const char vertex[] =
    "labels: {team: red}\n"
    "job_spec:\n"
    "  worker_pool_specs:\n"
    "  - machine_spec: {machine_type: n1-standard-8}\n"
    "    container_spec: {image_uri: old, command: [/opt/tequio], args: [train, a.jsonnet]}\n"
    "  - machine_spec: {machine_type: n1-standard-8}\n"
    "    replica_count: 2\n"
    "    container_spec: {command: [tequio, train], args: [a.jsonnet]}\n"
    "  scheduling: {timeout: 60s, disable_retries: true, restart_job_on_worker_restart: true}\n"
    "  base_output_directory: {output_uri_prefix: gs://b/d}\n";

static void flags_go_over_a_job_of_vertex(void **state)
{
    (void)state;
    static const line l = {{{"job-dir", "runs/a"},
                            {"worker-count", "3"},
                            {"worker-machine-type", "n1-standard-4"},
                            {"master-accelerator", "count=1,type=nvidia-tesla-t4"}}};
    arena *memory = arena_create();
    job j;
    assert_int_equal(job_of(vertex, &(line){0}, NULL, memory, &j, NULL), OK);
    assert_string_equal(j.job_dir, "gs://b/d");
    assert_string_equal(document_get(j.labels, "team")->text, "red");
    assert_true(j.calls_chief);
    assert_true(j.is_tried_once);
    assert_true(j.max_running_s == 60);
    assert_string_equal(j.pools[ROLE_MASTER].args[0], "a.jsonnet");
    assert_string_equal(j.pools[ROLE_WORKER].args[0], "a.jsonnet");
    assert_string_equal(j.pools[ROLE_WORKER].image, "old");
    assert_int_equal(j.n_warnings, 1);
    assert_non_null(strstr(j.warnings[0], "job_spec.scheduling.restartJobOnWorkerRestart: ignored"));
    assert_int_equal(job_of(vertex, &l, NULL, memory, &j, NULL), OK);
    assert_string_equal(j.job_dir, "runs/a");
    assert_int_equal(j.pools[ROLE_WORKER].count, 3);
    assert_string_equal(j.pools[ROLE_WORKER].machine_type, "n1-standard-4");
    assert_int_equal(j.pools[ROLE_MASTER].gpus, 1);
    static const line there = {{{"region", "us-east4"}, {"master-accelerator", "count=1,type=nvidia-tesla-t4"}}};
    assert_int_equal(job_of(vertex, &there, NULL, memory, &j, NULL), OK); /* not of AI Platform */
    assert_string_equal(j.warnings[1], "region us-east4: whether it offers NVIDIA_TESLA_T4 is not known here");
    arena_destroy(&memory);
}

/* As most jobs of others are: their image runs Python. */
static void arguments_replace_an_images_program(void **state)
{
    (void)state;
    static const char file[] = "workerPoolSpecs:\n"
                               "- machineSpec: {machineType: n1-standard-8}\n"
                               "  containerSpec: {command: [python, train.py], args: [--lr, '1']}\n";
    static const char *const args[] = {"b.jsonnet", NULL};
    static const line none = {0};
    arena *memory = arena_create();
    job j;
    error err = ERROR_INIT;
    assert_int_equal(job_of(file, &none, args, memory, &j, &err), OK);
    assert_string_equal(j.pools[ROLE_MASTER].args[0], "b.jsonnet");
    assert_null(j.pools[ROLE_MASTER].args[1]);
    assert_int_equal(j.n_warnings, 1);
    assert_string_equal(j.warnings[0], "job.yaml:3:28: workerPoolSpecs[0].containerSpec.command: ignored: "
                                       "what stands behind -- are arguments of tequio");
    arena_destroy(&memory);
}

static void flags_are_refused(void **state)
{
    (void)state;
    static const struct {
        line line;
        status st;
        const char *text;
    } cases[] = {
        {{{{"worker-count", "2"}}}, E_USAGE,
         "--worker-count needs --worker-machine-type: both or neither"},
        {{{{"parameter-server-machine-type", "standard"}}}, E_USAGE,
         "--parameter-server-machine-type needs --parameter-server-count: both or neither"},
        {{{{"scale-tier", "custom"}}}, E_USAGE,
         "--master-machine-type is required if scale-tier is set to `CUSTOM`."},
        {{{{"master-image-uri", "x"}, {"runtime-version", "2.1"}}}, E_USAGE,
         "Only one of --master-image-uri, --runtime-version can be set."},
        {{{{"kms-keyring", "x"}}}, E_USAGE, "--kms-keyring needs --kms-key"},
        {{{{"labels", "a"}}}, E_USAGE, "--labels: 'a' is no KEY=VALUE"},
        {{{{"labels", "a=1,a=2"}}}, E_USAGE, "--labels: a is given twice"},
        {{{{"master-accelerator", "count=1"}}}, E_USAGE,
         "--master-accelerator: type=... is missing"},
        {{{{"master-accelerator", "count=1,typ=nvidia-tesla-t4"}}}, E_USAGE,
         "--master-accelerator: there is no 'typ'; it takes count=...,type=..."},
        {{{{"scale-tier", "custom"},
           {"master-machine-type", "n1-standard-8"},
           {"master-accelerator", "count=3,type=nvidia-tesla-t4"}}},
         E_CONFIG,
         "--master-accelerator: 3 × NVIDIA_TESLA_T4 is not possible on n1-standard-8 (8 vCPUs, 30 "
         "GB); possible there: 1, 2, 4"},
        {{{{"scale-tier", "custom"},
           {"master-machine-type", "n1-standard-8"},
           {"master-accelerator", "count=x,type=nvidia-tesla-t4"}}},
         E_CONFIG, "--master-accelerator: must be a whole number, not 'x'"},
        {{{{"scale-tier", "custom"},
           {"master-machine-type", "n1-standard-8"},
           {"master-accelerator", "count=1,type=nvidia-tesla-t5"}}},
         E_CONFIG,
         "--master-accelerator: must be one of ACCELERATOR_TYPE_UNSPECIFIED NVIDIA_TESLA_K80 "
         "NVIDIA_TESLA_P100 NVIDIA_TESLA_V100 NVIDIA_TESLA_P4 NVIDIA_TESLA_T4 NVIDIA_TESLA_A100 "
         "NVIDIA_A100_80GB NVIDIA_L4 NVIDIA_H100_80GB NVIDIA_H100_MEGA_80GB NVIDIA_H200_141GB "
         "NVIDIA_B200 NVIDIA_GB200 NVIDIA_RTX_PRO_6000 TPU_V2 TPU_V3 TPU_V2_POD TPU_V3_POD TPU_V4_POD "
         "TPU_V5_LITEPOD, not 'nvidia-tesla-t5'"},
        {{{{"tpu-tf-version", "1"}}}, E_CONFIG,
         "--tpu-tf-version: there is no backend for TPUs"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        arena *memory = arena_create();
        job j;
        error err = ERROR_INIT;
        status st = job_of("", &cases[i].line, NULL, memory, &j, &err);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(st, cases[i].st);
        arena_destroy(&memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_alone_make_a_job),
        cmocka_unit_test(words_are_taken_in_any_spelling),
        cmocka_unit_test(a_flag_replaces_its_field_alone),
        cmocka_unit_test(flags_go_over_a_job_of_vertex),
        cmocka_unit_test(arguments_replace_an_images_program),
        cmocka_unit_test(flags_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
