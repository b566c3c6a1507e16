/*
 * What make_models.py has written for a model, and networks that are built to run on it. Any
 * failure fails the test with the error's text.
 */
#ifndef TEQUIO_TESTS_GOLDEN_SUPPORT_GOLDEN_H
#define TEQUIO_TESTS_GOLDEN_SUPPORT_GOLDEN_H

#include "common/store/safetensors.h"
#include "exec/exec.h"
#include "model/model.h"

/* Where networks compute, and by how many optimizers and steps each is trained, unless a program
 * was told others. */
#ifndef GOLDEN_BACKEND
#define GOLDEN_BACKEND    backend_cpu
#define GOLDEN_OPTIMIZERS 2
#define GOLDEN_STEPS      10
#endif

enum { GOLDEN_BATCHES = 5, GOLDEN_MODELS = 13, GOLDEN_IMAGES = 8 };

/* Those that PyTorch has exported too, and the families for images of which there is the run alone. */
extern const char *const golden_models[GOLDEN_MODELS];
extern const char *const golden_images[GOLDEN_IMAGES];

/* cmocka: fails the running test with the error's text unless `st` is OK. */
void must(status st, const error *err);

/* What comes in: the data's fields, and one file of data/. */
typedef struct golden {
    st_file *file;
    data_field fields[DATA_FIELDS];
    size_t n_fields;
    int64_t batch;
} golden;

/* data/, or where the environment's GOLDEN_DATA says. */
const char *golden_folder(void);
void golden_open(golden *g, const char *model);
void golden_close(golden *g);
/* The file's entry of that key: "model", or the name of an optimizer, as sections of a
 * configuration. */
const char *golden_section(const golden *g, const char *key);
/* "<kind>.<name>" */
const st_tensor *golden_tensor(const golden *g, const char *kind, const char *name);

/* A model on one thread; its weights as the model says they begin. */
typedef struct network {
    config *config;
    graph *graph;
    flat *flat;
    exec *exec;
    float *weights;
} network;

/* `model` and `optimizer` are sections of a configuration. NULL: no training, the model predicts.
 */
void network_init(network *n, const golden *g, const char *model, const char *optimizer);
void network_fini(network *n);
/* The file's first weights. */
void network_take_weights(network *n, const golden *g);
/* What it has, as a safetensors file. */
void network_write_weights(const network *n, const char *path);
/* The same graph for another size of the batch, without backward. */
graph *network_predicting(const network *n, const golden *g, int64_t batch);
/* A batch of the file into the inputs, labels only where they are read; images of which the
 * file has the shape alone are the formula's (make_models.py). */
void network_feed(network *n, const golden *g, int batch);
/* Forward, in training backward too; the loss, 0 if there is none. */
float network_run(network *n);
/* The gradient of a parameter, NULL if there is none of that name. */
const float *network_grad(const network *n, const char *param);

#endif
