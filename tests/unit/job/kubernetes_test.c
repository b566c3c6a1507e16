/* Jobs as manifests of Kubernetes: names, what is refused, and what pods are given. That they have
 * the form Kubernetes wants is shown by launchers/kubernetes.test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "job/kubernetes/manifest.h"
#include "job/yaml.h"
#include "support/job_text.h"

#include <stdio.h>
#include <string.h>

typedef struct scene {
    arena *memory;
    job job;
    char name[KUBERNETES_NAME];
    kubernetes_options o;
} scene;

static const char *const arguments[] = {"train", KUBERNETES_CONFIG, "--job-dir", "/job", NULL};

static scene *scene_of(const char *text)
{
    arena *memory = arena_create();
    scene *s = arena_alloc(memory, sizeof *s);
    s->memory = memory;
    error err = ERROR_INIT;
    if (job_of_text(text, strlen(text), memory, &s->job, &err) != OK ||
        kubernetes_name(&s->job, NULL, s->name, &err) != OK)
        fail_msg("%s", err.text);
    s->o = (kubernetes_options){
        .job = &s->job,
        .name = s->name,
        .image = "registry/tequio:1",
        .primary = "chief",
        .arguments = arguments,
        .config = "{\n  \"model\": { \"type\": \"mlp\" }\n}\n",
        .job_dir = "/job",
        .is_secured = true,
        .grace_s = 40,
        .max_restarts = 5,
    };
    assert_int_equal(kubernetes_claims(NULL, memory, &s->o.claims, NULL), OK);
    return s;
}

static void scene_end(scene *s)
{
    arena *memory = s->memory;
    arena_destroy(&memory);
}

static char *manifest_of(const scene *s)
{
    buf text = BUF_INIT;
    error err = ERROR_INIT;
    if (kubernetes_manifest(&s->o, &text, &err) != OK)
        fail_msg("%s", err.text);
    return buf_detach(&text);
}

static void refused(const scene *s, const char *why)
{
    buf text = BUF_INIT;
    error err = ERROR_INIT;
    assert_int_not_equal(kubernetes_manifest(&s->o, &text, &err), OK);
    assert_non_null(strstr(err.text, why));
    buf_fini(&text);
}

static void holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s\ndoes not hold: %s", text, part);
}

static void lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("%s\nholds: %s", text, part);
}

static const char seed[] =
    "{jobId: Seed_1, labels: {team: red}, trainingInput: {scaleTier: CUSTOM, "
    "masterType: n1-highcpu-16, "
    "masterConfig: {acceleratorConfig: {count: 4, type: NVIDIA_TESLA_T4}}, "
    "workerType: n1-highcpu-16, workerCount: 2, "
    "workerConfig: {acceleratorConfig: {count: 1, type: NVIDIA_TESLA_T4}}, "
    "parameterServerType: n1-highmem-8, parameterServerCount: 1, "
    "scheduling: {maxRunningTime: 90.5s}}}";

/* --- YAML --- */

/* What another reader makes of the text must be a text again. */
static void texts_stay_texts(void **state)
{
    (void)state;
    static const char *const words[] = {
        "plain",     "/a/path",    "",         "yes",          "No",
        "null",      "~",          "12",       "1e3",          "0x1f",
        "1:30",      "2001-01-01", "- a",      "a: b",         "#x",
        "a #b",      "'",          "\"q\"",    "two\nlines\n", "  led\nby blanks",
        "tab\tin",   "ends\\",     "*a",       "&a",           "!a",
        "%a",        "@a",         "{}",       "[]",           "<<",
        "=",         "ümlaut",     "a\n\n\nb", "cr\rx",        "\x01",
        "trailing ", "\nfirst"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        json_t *value = json_pack("{s:[s], s:s}", "list", words[i], "text", words[i]);
        buf text = BUF_INIT;
        yaml_add(value, &text);
        arena *memory = arena_create();
        doc_node *top = NULL;
        error err = ERROR_INIT;
        if (document_read(text.data, text.size, "yaml", memory, &top, &err) != OK)
            fail_msg("%s\n%s", err.text, text.data);
        assert_string_equal(document_get(top, "text")->text, words[i]);
        assert_string_equal(document_get(top, "list")->item[0]->text, words[i]);
        arena_destroy(&memory);
        buf_fini(&text);
        json_decref(value);
    }
}

static void values_have_their_forms(void **state)
{
    (void)state;
    json_t *value =
        json_pack("{s:i, s:b, s:[i,i], s:{}, s:[{s:s, s:s}], s:s}", "count", 3, "is", true, "codes",
                  1, 2, "none", "list", "a", "x", "b", "true", "lines", "one\ntwo\n");
    buf text = BUF_INIT;
    yaml_add(value, &text);
    assert_string_equal(text.data,
                        "count: 3\nis: true\ncodes: [1, 2]\nnone: {}\nlist:\n- a: x\n  b: 'true'\n"
                        "lines: |\n  one\n  two\n");
    yaml_add(value, &text);
    holds(text.data, "  two\n---\ncount: 3\n");
    buf_fini(&text);
    json_decref(value);
}

/* --- names --- */

static void a_name_is_one_of_dns(void **state)
{
    (void)state;
    scene *s = scene_of(seed);
    assert_string_equal(s->name, "seed-1");
    char name[KUBERNETES_NAME];
    error err = ERROR_INIT;
    s->job.id = "a234567890123456789012345678901234567890123456789012345"; /* 55, and -worker-1 */
    assert_int_equal(kubernetes_name(&s->job, NULL, name, &err), E_CONFIG);
    holds(err.text, "at most 54");
    error_clear(&err);
    s->job.id++;
    assert_int_equal(kubernetes_name(&s->job, NULL, name, &err), OK);
    s->job.id = "seed_";
    assert_int_equal(kubernetes_name(&s->job, NULL, name, &err), E_CONFIG);
    scene_end(s);
}

static void claims_are_read(void **state)
{
    (void)state;
    arena *memory = arena_create();
    const kubernetes_claim *c = NULL;
    error err = ERROR_INIT;
    assert_int_equal(kubernetes_claims("work:/mnt/work,data-2:/data", memory, &c, &err), OK);
    assert_string_equal(c[0].name, "work");
    assert_string_equal(c[1].path, "/data");
    assert_null(c[2].name);
    static const char *const wrong[] = {"work",       "work:", "work:data", ":/data",
                                        "Work:/data", "w_:/d", "a:/a,b"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        error_clear(&err);
        assert_int_equal(kubernetes_claims(wrong[i], memory, &c, &err), E_USAGE);
        holds(err.text, "as data:/data");
    }
    arena_destroy(&memory);
}

/* --- what a manifest says --- */

static void an_operator_gets_a_tfjob(void **state)
{
    (void)state;
    scene *s = scene_of(seed);
    char *text = manifest_of(s);
    holds(text, "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata:\n  name: seed-1\n");
    holds(text, "    team: red\n");
    holds(text, "activeDeadlineSeconds: 91\n");
    holds(text, "    Chief:\n      replicas: 1\n      restartPolicy: ExitCode\n");
    holds(text, "    Worker:\n      replicas: 2\n");
    holds(text, "cpu: '12000m'\n                memory: '11059Mi'\n");
    holds(text, "nvidia.com/gpu: 4\n");
    holds(text, "cloud.google.com/gke-accelerator: nvidia-tesla-t4\n");
    holds(text, "kubectl create secret generic seed-1 ");
    lacks(text, "namespace:");
    lacks(text, "TF_CONFIG");
    lacks(text, "\n    Evaluator:");
    free(text);
    s->o.primary = "master";
    s->o.namespace = "ml";
    s->o.any_gpu = true;
    text = manifest_of(s);
    holds(text, "    Master:\n");
    holds(text, "namespace: ml\n");
    lacks(text, "nodeSelector");
    free(text);
    s->o.max_restarts = 0;
    text = manifest_of(s);
    holds(text, "    Master:\n      replicas: 1\n      restartPolicy: Never\n");
    lacks(text, "ExitCode");
    free(text);
    scene_end(s);
}

static void others_get_jobs_that_know_each_other(void **state)
{
    (void)state;
    scene *s = scene_of(seed);
    s->o.plain_jobs = true;
    char *text = manifest_of(s);
    holds(text, "kind: Service\n");
    holds(text, "kind: Job\nmetadata:\n  name: seed-1-worker\n");
    holds(text, "\"chief\":[\"seed-1-chief-0.seed-1:2222\"]");
    holds(text, "\"seed-1-worker-1.seed-1:2222\"");
    holds(text, "\"task\":{\"index\":$(TASK_INDEX),\"type\":\"ps\"}");
    lacks(text, "kubeflow");
    free(text);
    assert_int_equal(job_scale_down(&s->job, "1x1x1", NULL), OK);
    s->job.pools[ROLE_WORKER].count = s->job.pools[ROLE_PS].count = 0;
    text = manifest_of(s);
    lacks(text, "kind: Service\n"); /* alone, it needs nobody's name */
    lacks(text, "TF_CONFIG");
    lacks(text, "readinessProbe");
    free(text);
    scene_end(s);
}

/* The job dir is in a claim that is there, or in one of the job's own. */
static void the_job_dir_is_kept(void **state)
{
    (void)state;
    scene *s = scene_of(seed);
    char *text = manifest_of(s);
    holds(text, "kind: PersistentVolumeClaim\n");
    holds(text, "- ReadWriteOnce\n");
    holds(text, "- name: job\n              mountPath: /job\n              subPath: job\n");
    free(text);
    s->o.job_dir = "/mnt/work/seed";
    assert_int_equal(kubernetes_claims("work:/mnt/work/", s->memory, &s->o.claims, NULL), OK);
    text = manifest_of(s);
    lacks(text, "kind: PersistentVolumeClaim\n");
    holds(text, "claimName: work\n");
    free(text);
    s->o.job_dir = "/mnt/workers/seed"; /* beside it */
    s->job.pools[ROLE_EVALUATOR] = s->job.pools[ROLE_PS];
    text = manifest_of(s);
    holds(text, "- ReadWriteMany\n");
    free(text);
    scene_end(s);
}

static void what_kubernetes_would_refuse_is_refused(void **state)
{
    (void)state;
    scene *s = scene_of(seed);
    s->o.image = NULL;
    refused(s, "no image is named; give --image");
    s->job.pools[ROLE_MASTER].image = "registry/tequio:1";
    free(manifest_of(s));
    s->o.namespace = "Mine";
    refused(s, "--namespace: 'Mine'");
    s->o.namespace = NULL;
    s->job.service_account = "me@project.iam.gserviceaccount.com";
    refused(s, "is Google's");
    s->job.service_account = NULL;
    char *long_text = xcalloc(CONFIG_MAP_BYTES + 1, 1);
    memset(long_text, ' ', CONFIG_MAP_BYTES);
    s->o.config = long_text;
    refused(s, "a ConfigMap of Kubernetes holds 1 MiB");
    free(long_text);
    scene_end(s);
    s = scene_of("{jobId: seed, labels: {team: red-}, trainingInput: {scaleTier: BASIC}}");
    refused(s, "the label 'red-'");
    scene_end(s);
}

static void a_thousand_tasks_are_planned_at_once(void **state)
{
    (void)state;
    scene *s = scene_of(seed);
    s->job.pools[ROLE_WORKER].count = 1000;
    s->o.plain_jobs = true;
    int64_t begin = clock_us();
    char *text = manifest_of(s);
    assert_true(clock_us() - begin < 100 * 1000);
    holds(text, "seed-1-worker-999.");
    free(text);
    scene_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_stay_texts),
        cmocka_unit_test(values_have_their_forms),
        cmocka_unit_test(a_name_is_one_of_dns),
        cmocka_unit_test(claims_are_read),
        cmocka_unit_test(an_operator_gets_a_tfjob),
        cmocka_unit_test(others_get_jobs_that_know_each_other),
        cmocka_unit_test(the_job_dir_is_kept),
        cmocka_unit_test(what_kubernetes_would_refuse_is_refused),
        cmocka_unit_test(a_thousand_tasks_are_planned_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
