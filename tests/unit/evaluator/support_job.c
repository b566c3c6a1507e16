/* See support_job.h. */
#include "unit/evaluator/support_job.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/checkpoint.h"
#include "data/data.h"
#include "model/model.h"
#include "support/folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = JOB_SIDE * JOB_SIDE };

static void must(status st, const error *err)
{
    if (st == OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

static int pixel(int64_t example, int at)
{
    return (int)((example * 37 + at * at * 11 + at * example * 3) % 256);
}

static int64_t label(int64_t example)
{
    return example * 7 % JOB_CLASSES;
}

static void write_file(const char *path, const unsigned char *data, size_t n)
{
    error err = ERROR_INIT;
    must(fs_write_atomic(path, data, n, &err), &err);
}

static char *write_data(const char *dir)
{
    unsigned char images[16 + JOB_EXAMPLES * PIXELS] = {0, 0, 8, 3,        0, 0, 0, JOB_EXAMPLES,
                                                        0, 0, 0, JOB_SIDE, 0, 0, 0, JOB_SIDE};
    unsigned char labels[8 + JOB_EXAMPLES] = {0, 0, 8, 1, 0, 0, 0, JOB_EXAMPLES};
    for (int i = 0; i < JOB_EXAMPLES; i++) {
        labels[8 + i] = (unsigned char)label(i);
        for (int k = 0; k < PIXELS; k++)
            images[16 + i * PIXELS + k] = (unsigned char)pixel(i, k);
    }
    char *path = xasprintf("%s/v-images-idx3-ubyte", dir);
    char *other = xasprintf("%s/v-labels-idx1-ubyte", dir);
    write_file(path, images, sizeof images);
    write_file(other, labels, sizeof labels);
    free(other);
    return path;
}

static config *load(const char *images, const char *more)
{
    char *text = xasprintf("{train_data_path: '%s', validation_data_path: '%s',"
                           "dataset_reader: {mean: 0.5, std: 0.5, classes: %d},"
                           "model: {type: 'mlp', hidden: [%d], batch_norm: true},"
                           "data_loader: {batch_size: %d}} + {%s}",
                           images, images, JOB_CLASSES, JOB_HIDDEN, JOB_BATCH, more);
    config *c = NULL;
    error err = ERROR_INIT;
    must(config_load(&(config_source){.text = text}, &c, &err), &err);
    free(text);
    return c;
}

/* The layout a training job declares: its parameters in order of readiness. */
static flat *training_flat(const config *c)
{
    const data_field fields[] = {
        {.name = "image", .dtype = DT_F32, .rank = 3, .dim = {1, JOB_SIDE, JOB_SIDE}},
        {.name = "label", .dtype = DT_I64, .classes = JOB_CLASSES},
    };
    model_request r = {.model = config_section(c, "model"),
                       .fields = fields,
                       .n_fields = 2,
                       .batch_size = JOB_BATCH,
                       .mode = MODEL_TRAIN};
    graph *g = NULL;
    flat *f = NULL;
    error err = ERROR_INIT;
    must(model_build(&r, &g, &err), &err);
    must(model_flat(g, &f, &err), &err);
    graph_destroy(&g);
    return f;
}

job job_make(const char *more)
{
    job j = {.path = folder_create()};
    j.images = write_data(j.path);
    j.config = load(j.images, more);
    j.flat = training_flat(j.config);
    j.weights = xcalloc((size_t)j.flat->n_elements, sizeof(float));
    char *dir = xasprintf("%s/job", j.path);
    error err = ERROR_INIT;
    must(jobdir_open(dir, &j.dir, &err), &err);
    free(dir);
    return j;
}

void job_fini(job *j)
{
    jobdir_close(&j->dir);
    flat_destroy(&j->flat);
    config_destroy(&j->config);
    folder_destroy(&j->path);
    free(j->weights);
    free(j->images);
}

static void draw_weights(job *j, uint64_t seed)
{
    for (int32_t p = 0; p < j->flat->n_parts; p++)
        flat_part_init(j->flat, p, seed, j->weights + j->flat->parts[p].begin);
}

static void write_shard(const job *j, job_save save, manifest *m)
{
    shard_part *parts = xcalloc((size_t)j->flat->n_parts, sizeof *parts);
    for (int32_t p = 0; p < j->flat->n_parts; p++)
        parts[p] = (shard_part){.part = p, .weights = j->weights + j->flat->parts[p].begin};
    m->shards[0].file = xstrdup("ps-0-of-1.safetensors");
    char *path = jobdir_file(j->dir, "checkpoints/step-%09lld.tmp.1/%s", (long long)save.step,
                             m->shards[0].file);
    error err = ERROR_INIT;
    shard_request request = {.path = path,
                             .flat = j->flat,
                             .parts = parts,
                             .n_parts = (size_t)j->flat->n_parts,
                             .step = save.step};
    must(shard_write(&request, m->shards[0].sha256, &m->shards[0].bytes, &err), &err);
    free(path);
    free(parts);
}

void job_commit(job *j, job_save save)
{
    error err = ERROR_INIT;
    manifest m = {.step = save.step,
                  .final = save.final,
                  .batches_per_step = 1,
                  .epochs_done = save.epochs_done,
                  .n_shards = 1,
                  .shards = xcalloc(1, sizeof *m.shards),
                  .part_shard = xcalloc((size_t)j->flat->n_parts, sizeof *m.part_shard)};
    draw_weights(j, save.seed);
    config_digest(j->config, m.config_digest);
    flat_digest(j->flat, m.flat_digest);
    must(flat_create(j->flat->tensors, (size_t)j->flat->n_tensors, &m.flat, &err), &err);
    write_shard(j, save, &m);
    must(checkpoint_commit(j->dir, 1, &m, &err), &err);
    manifest_fini(&m);
}

bool job_has(const job *j, const char *name)
{
    char *path = jobdir_file(j->dir, "%s", name);
    bool there = fs_exists(path);
    free(path);
    return there;
}

char *job_text(const job *j, const char *name)
{
    char *path = jobdir_file(j->dir, "%s", name);
    buf b = BUF_INIT;
    error err = ERROR_INIT;
    must(fs_read(path, 1 << 20, &b, &err), &err);
    free(path);
    return buf_detach(&b);
}

static const float *tensor(const job *j, const char *name)
{
    int32_t t = flat_find(j->flat, name);
    if (t < 0)
        abort();
    return j->weights + j->flat->offset[t];
}

static void hidden_features(const job *j, int64_t example, double *ret)
{
    const float *w = tensor(j, "fc1.weight");
    for (int h = 0; h < JOB_HIDDEN; h++) {
        double sum = 0.0;
        for (int k = 0; k < PIXELS; k++)
            sum += (double)w[h * PIXELS + k] * (((double)pixel(example, k) / 255.0 - 0.5) / 0.5);
        double scale = (double)tensor(j, "fc_bn1.weight")[h];
        double mean = (double)tensor(j, "fc_bn1.running_mean")[h];
        double var = (double)tensor(j, "fc_bn1.running_var")[h];
        double y = (sum - mean) / sqrt(var + 1e-5) * scale + (double)tensor(j, "fc_bn1.bias")[h];
        ret[h] = y > 0.0 ? y : 0.0;
    }
}

void job_reference(const job *j, double *ret_loss, double *ret_accuracy)
{
    const float *w = tensor(j, "fc2.weight"), *b = tensor(j, "fc2.bias");
    double loss = 0.0, right = 0.0;
    for (int64_t i = 0; i < JOB_EXAMPLES; i++) {
        double hidden[JOB_HIDDEN], score[JOB_CLASSES], total = 0.0;
        int best = 0;
        hidden_features(j, i, hidden);
        for (int c = 0; c < JOB_CLASSES; c++) {
            score[c] = (double)b[c];
            for (int h = 0; h < JOB_HIDDEN; h++)
                score[c] += (double)w[c * JOB_HIDDEN + h] * hidden[h];
            total += exp(score[c]);
            best = score[c] > score[best] ? c : best;
        }
        loss += log(total) - score[label(i)];
        right += best == label(i);
    }
    *ret_loss = loss / JOB_EXAMPLES;
    *ret_accuracy = right / JOB_EXAMPLES;
}
