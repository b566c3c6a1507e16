/* What a lane counts of training's metrics, where a label is an image that moves with its own: a device that finishes
 * both (data/finish.h) and a host that does give the same counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/store/safetensors.h"
#include "support/folder.h"
#include "worker/inputs.h"
#include "worker/lane_metrics.h"

#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 24, BATCH = 8, HEIGHT = 3, WIDTH = 5, CLASSES = 2, PIXELS = HEIGHT * WIDTH };

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s", err->text);
}

static char *write_data(void)
{
    static float images[EXAMPLES * PIXELS], labels[EXAMPLES * CLASSES * PIXELS];
    for (size_t i = 0; i < COUNT_OF(images); i++)
        images[i] = (float)(i * 37 % 101) / 50.0f - 1.0f;
    for (size_t i = 0; i < COUNT_OF(labels); i++)
        labels[i] = (float)(i * 53 % 97) / 48.0f - 1.0f;
    st_tensor tensors[] = {{.name = "image", .data = images, .bytes = sizeof images, .dim = {EXAMPLES, 1}},
                           {.name = "label", .data = labels, .bytes = sizeof labels, .dim = {EXAMPLES, CLASSES}}};
    for (size_t i = 0; i < COUNT_OF(tensors); i++) {
        tensors[i].dtype = DT_F32;
        tensors[i].rank = 4;
        tensors[i].dim[2] = HEIGHT;
        tensors[i].dim[3] = WIDTH;
    }
    char *path = folder_file("pixels.safetensors");
    error err = ERROR_INIT;
    st_writer *w = NULL;
    must(st_writer_open(path, tensors, COUNT_OF(tensors), NULL, 0, &w, &err), &err);
    for (size_t i = 0; i < COUNT_OF(tensors); i++)
        must(st_writer_add(w, tensors[i].data, tensors[i].bytes, &err), &err);
    must(st_writer_close(&w, NULL, NULL, &err), &err);
    return path;
}

static config *configure(void)
{
    char *path = write_data();
    char *text = xasprintf("{dataset_reader: {type: 'arrays', augment: {flip: true}}, train_data_path: '%s',\n"
                           " model: {type: 'sequential', loss: 'mean_squared_error',\n"
                           "  layers: [{type: 'conv', filters: %d, kernel: 3, padding: 'same'}],\n"
                           "  metrics: ['mean_absolute_error', 'pearson_correlation']},\n"
                           " data_loader: {batch_size: %d}}",
                           path, CLASSES, BATCH);
    config *c = NULL;
    error err = ERROR_INIT;
    must(config_load(&(config_source){.text = text}, &c, &err), &err);
    free(text);
    free(path);
    return c;
}

static loader *read_data(const config *c, const variants *v, bool unfinished)
{
    loader_options o = variants_loader(c, v, 1);
    loader *l = NULL;
    error err = ERROR_INIT;
    o.bytes = o.unfinished = unfinished;
    must(loader_create(&o, &l, &err), &err);
    return l;
}

static exec *make_engine(const variants *v, float *weights)
{
    exec *e = NULL;
    error err = ERROR_INIT;
    for (int32_t p = 0; p < v->flat->n_parts; p++)
        flat_part_init(v->flat, p, 3, weights + v->flat->parts[p].begin);
    const exec_options o = {.backend = &backend_cpu, .device = {.threads = 1}, .flat = v->flat,
                            .graphs = (const graph *const *)v->graphs, .n_graphs = 1};
    must(exec_create(&o, &e, &err), &err);
    exec_bind_params(e, weights);
    return e;
}

static span *count(lane_metrics *m, exec *e, const loader *from, const data_batch *batch)
{
    span *counts = NULL;
    error err = ERROR_INIT;
    lane_metrics_fill(m, from, batch);
    lane_metrics_begin(m);
    must(lane_metrics_count(m, e, 0, &counts, &err), &err);
    return counts;
}

static void test_a_label_that_a_device_moves(void **state)
{
    (void)state;
    config *c = configure();
    variants v;
    lane_metrics *m = NULL;
    error err = ERROR_INIT;
    must(variants_build(c, &v, &err), &err);
    must(lane_metrics_open(c, &v, &m, &err), &err);
    assert_non_null(m);
    float *weights = xcalloc((size_t)v.flat->n_elements, sizeof *weights);
    exec *e = make_engine(&v, weights);
    inputs in;
    must(inputs_bind(e, 0, v.data, &in, &err), &err);
    loader *by_host = read_data(c, &v, false), *by_device = read_data(c, &v, true);
    const steps s = {.examples = EXAMPLES, .batch_size = BATCH, .per_step = 1};
    bool any_moves = false;
    for (int64_t step = 0; step < EXAMPLES / BATCH; step++) {
        const step_slot slot = steps_slot(&s, step, 0);
        const data_batch *finished = NULL, *left = NULL;
        must(loader_take(by_host, &slot, &finished, &err), &err);
        must(loader_take(by_device, &slot, &left, &err), &err);
        assert_non_null(left->draws[1]);
        any_moves |= memcmp(finished->data[1], left->data[1], data_field_bytes(&left->fields[1]) * BATCH) != 0;
        inputs_write(&in, finished, 1.0f);
        must(exec_run(e, 0, &(exec_hooks){.user = NULL}, &err), &err);
        span *want = count(m, e, by_host, finished), *have = count(m, e, by_device, left);
        assert_int_equal(have->bytes, want->bytes);
        assert_memory_equal(have->data, want->data, want->bytes);
        span_drop(want);
        span_drop(have);
        loader_release(by_host, finished);
        loader_release(by_device, left);
    }
    assert_true(any_moves);
    loader_destroy(&by_host);
    loader_destroy(&by_device);
    exec_destroy(&e);
    free(weights);
    lane_metrics_close(&m);
    variants_fini(&v);
    config_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_label_that_a_device_moves),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
