/* Compose files, read back by the reader of job files; and the image of this program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/docker/compose.h"
#include "job/docker/image.h"

#include <stdlib.h>
#include <string.h>

static const char *const none[] = {NULL};
static const char *const arguments[] = {"train", "c.json", NULL};

/* The founding document's job, smaller: a master, two workers and a server. */
static job small_job(int64_t gpus_of_each)
{
    job j = {.id = "seed"};
    j.pools[ROLE_MASTER] = (job_pool){.count = 1, .gpus = gpus_of_each};
    j.pools[ROLE_WORKER] = (job_pool){.count = 2, .gpus = gpus_of_each};
    j.pools[ROLE_PS] = (job_pool){.count = 1};
    return j;
}

static compose_options options_of(const job *j)
{
    return (compose_options){
        .job = j,
        .shape = {.counts = {[ROLE_MASTER] = 1, [ROLE_WORKER] = 2, [ROLE_PS] = 1},
                  .primary = "chief",
                  .start_port = 27182},
        .image = "tequio:0123",
        .arguments = arguments,
        .environment = none,
        .reads = none,
        .libraries = none,
        .folder = "/home/me",
        .job_dir = "/home/me/job",
        .user = 1000,
        .group = 100,
    };
}

static doc_node *file_of(const compose_options *o, arena *memory)
{
    roster tasks;
    buf text = BUF_INIT;
    doc_node *top = NULL;
    error err = ERROR_INIT;
    compose_plan(o, memory, &tasks);
    compose_file(o, &tasks, &text);
    if (document_read(text.data, text.size, "docker-compose.yml", memory, &top, &err) != OK)
        fail_msg("%s in\n%s", err.text, text.data);
    roster_close(&tasks);
    buf_fini(&text);
    return top;
}

/* The node at "services.worker-1.volumes[0]"; NULL if there is none. */
static const doc_node *at(const doc_node *n, const char *path)
{
    char *words = strdup(path), *rest = NULL;
    for (char *w = strtok_r(words, ".]", &rest); n && w; w = strtok_r(NULL, ".]", &rest)) {
        char *item = strchr(w, '[');
        if (item)
            *item = '\0';
        n = document_get(n, w);
        if (item)
            n = n && atoi(item + 1) < n->n ? n->item[atoi(item + 1)] : NULL;
    }
    free(words);
    return n;
}

static const char *text_at(const doc_node *top, const char *path)
{
    const doc_node *n = at(top, path);
    return n && n->text ? n->text : "(nothing)";
}

static void each_task_is_a_service(void **state)
{
    (void)state;
    arena *memory = arena_create();
    job j = small_job(0);
    compose_options o = options_of(&j);
    const doc_node *top = file_of(&o, memory), *all = document_get(top, "services");
    static const char *const names[] = {"master-0", "ps-0", "worker-0", "worker-1"};
    assert_int_equal(all->n, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(all->key[i], names[i]);
    assert_string_equal(
        text_at(top, "services.worker-1.environment[0]"),
        "TF_CONFIG={\"cluster\":{\"chief\":[\"master-0:27182\"],\"ps\":[\"ps-0:27182\"],"
        "\"worker\":[\"worker-0:27182\",\"worker-1:27182\"]},\"task\":{\"index\":1,\"type\":"
        "\"worker\"}}");
    assert_string_equal(text_at(top, "services.ps-0.image"), "tequio:0123");
    assert_string_equal(text_at(top, "services.ps-0.command[1]"), "c.json");
    assert_string_equal(text_at(top, "services.ps-0.user"), "1000:100");
    assert_string_equal(text_at(top, "services.ps-0.working_dir"), "/home/me");
    assert_string_equal(text_at(top, "services.ps-0.volumes[0].source"), "/home/me/job");
    assert_string_equal(text_at(top, "services.ps-0.volumes[0].read_only"), "(nothing)");
    assert_null(document_get(top, "secrets"));
    assert_null(at(top, "services.ps-0.secrets"));
    assert_null(at(top, "services.worker-0.deploy"));
    arena_destroy(&memory);
}

/* Compose reads $$ as $, and our reader does not. */
static void no_text_is_mistaken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "it's $HOME", "a: b # c", "\"\\n\" ${X}", "line\nline's \\ \"\t$", "\xc3\xa4\xe2\x82\xac",
        "",           "-",        "\x01\x7f"};
    arena *memory = arena_create();
    job j = small_job(0);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const char *both[] = {texts[i], NULL};
        compose_options o = options_of(&j);
        o.arguments = o.environment = o.reads = both;
        o.folder = o.job_dir = o.key_file = texts[i];
        const doc_node *top = file_of(&o, memory);
        buf wanted = BUF_INIT;
        for (const char *c = texts[i]; *c; c++)
            buf_addf(&wanted, *c == '$' ? "$$" : "%c", *c);
        static const char *const places[] = {
            "services.ps-0.command[0]",        "services.ps-0.environment[1]",
            "services.ps-0.volumes[0].target", "services.ps-0.volumes[1].source",
            "services.ps-0.working_dir",       "secrets.key.file"};
        for (size_t k = 0; k < COUNT_OF(places); k++)
            assert_string_equal(text_at(top, places[k]), wanted.data ? wanted.data : "");
        buf_fini(&wanted);
    }
    arena_destroy(&memory);
}

static void data_and_key_are_handed_in(void **state)
{
    (void)state;
    arena *memory = arena_create();
    job j = small_job(0);
    compose_options o = options_of(&j);
    o.reads = (const char *const[]){"/data/mnist", "/models", NULL};
    o.key_file = "/home/me/job/key";
    const doc_node *top = file_of(&o, memory);
    assert_int_equal(at(top, "services.worker-0.volumes")->n, 3);
    assert_string_equal(text_at(top, "services.worker-0.volumes[2].target"), "/models");
    assert_string_equal(text_at(top, "services.worker-0.volumes[2].read_only"), "true");
    assert_string_equal(text_at(top, "services.worker-0.environment[1]"),
                        "TEQUIO_KEY_FILE=/run/secrets/key");
    assert_string_equal(text_at(top, "services.worker-0.secrets[0]"), "key");
    assert_string_equal(text_at(top, "secrets.key.file"), "/home/me/job/key");
    arena_destroy(&memory);
}

#define DEVICES "deploy.resources.reservations.devices[0].device_ids"

/* The GPUs of a service, "0,1". */
static const char *gpus_of(const doc_node *top, const char *service, arena *memory)
{
    const doc_node *ids = at(top, arena_printf(memory, "services.%s." DEVICES, service));
    const char *all = "";
    for (int i = 0; ids && i < ids->n; i++)
        all = arena_printf(memory, "%s%s%s", all, i ? "," : "", ids->item[i]->text);
    return all;
}

/* Three tasks ask for some each, of a machine that has so many. */
static void gpus_are_dealt(void **state)
{
    (void)state;
    static const struct {
        int asked, gpus;
        const char *of[3];
    } cases[] = {
        {2, 6, {"0,1", "2,3", "4,5"}}, {1, 8, {"0", "1", "2"}},
        {4, 8, {"0,1", "2,3", "4,5"}}, /* not enough: even shares */
        {4, 2, {"0", "1", "0"}},       /* fewer than tasks */
        {4, 0, {"", "", ""}},          {0, 8, {"", "", ""}},
    };
    arena *memory = arena_create();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        job j = small_job(cases[i].asked);
        compose_options o = options_of(&j);
        o.gpus = cases[i].gpus;
        const doc_node *top = file_of(&o, memory);
        assert_string_equal(gpus_of(top, "master-0", memory), cases[i].of[0]);
        assert_string_equal(gpus_of(top, "worker-0", memory), cases[i].of[1]);
        assert_string_equal(gpus_of(top, "worker-1", memory), cases[i].of[2]);
        assert_string_equal(gpus_of(top, "ps-0", memory), "");
    }
    arena_destroy(&memory);
}

/* NVIDIA's libraries of this machine go with our image; who brings an image brings them too. */
static void images_may_be_brought(void **state)
{
    (void)state;
    arena *memory = arena_create();
    job j = small_job(1);
    j.pools[ROLE_MASTER].image = "example.org/own:1";
    compose_options o = options_of(&j);
    o.gpus = 3;
    o.libraries = (const char *const[]){"/usr/local/cuda/lib64", "/opt/cudnn", NULL};
    const doc_node *top = file_of(&o, memory);
    assert_string_equal(text_at(top, "services.master-0.image"), "example.org/own:1");
    assert_string_equal(text_at(top, "services.master-0.environment[1]"), "TEQUIO_OWN_GPUS=1");
    assert_int_equal(at(top, "services.master-0.environment")->n, 2);
    assert_string_equal(text_at(top, "services.worker-0.image"), "tequio:0123");
    assert_string_equal(text_at(top, "services.worker-0.environment[2]"),
                        "TEQUIO_CUDA_LIBRARIES=/opt/nvidia/0:/opt/nvidia/1");
    assert_string_equal(text_at(top, "services.worker-0.volumes[2].source"), "/opt/cudnn");
    assert_string_equal(text_at(top, "services.worker-0.volumes[2].target"), "/opt/nvidia/1");
    arena_destroy(&memory);
}

static void an_image_is_this_program(void **state)
{
    (void)state;
    arena *memory = arena_create();
    image i, again;
    buf text = BUF_INIT;
    assert_int_equal(image_of_this_program(memory, &i, NULL), OK);
    assert_int_equal(image_of_this_program(memory, &again, NULL), OK);
    assert_string_equal(i.name, again.name);
    assert_int_equal(strlen(i.name), strlen("tequio:0123456789abcdef"));
    bool has_libc = false, has_loader = false;
    for (int k = 0; k < i.n; k++) {
        assert_int_equal(i.paths[k][0], '/');
        has_libc = has_libc || strstr(i.paths[k], "/libc.so");
        has_loader = has_loader || strstr(i.paths[k], "/ld-");
    }
    assert_true(has_libc && has_loader);
    image_dockerfile(&i, &text);
    assert_non_null(strstr(text.data, "FROM scratch\nCOPY root /\nENV LD_LIBRARY_PATH=\"/"));
    assert_non_null(strstr(text.data, "ENTRYPOINT [\"/usr/bin/tequio\"]\n"));
    buf_fini(&text);
    arena_destroy(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_task_is_a_service),     cmocka_unit_test(no_text_is_mistaken),
        cmocka_unit_test(data_and_key_are_handed_in), cmocka_unit_test(gpus_are_dealt),
        cmocka_unit_test(images_may_be_brought),      cmocka_unit_test(an_image_is_this_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
