/*
 * What `bench step` measures: one lane that trains a known network on random data, with the
 * optimizer's update of all parts and without any role around it.
 * Threads: the one that created it.
 */
#ifndef TEQUIO_CLI_BENCH_LANE_H
#define TEQUIO_CLI_BENCH_LANE_H

#include "common/base/error.h"

#include <stdint.h>

typedef struct bench_lane bench_lane;

typedef struct bench_lane_options {
    const char *model, *optimizer, *precision; /* NULL: the first of each */
    int64_t batch;                             /* 0: the model's own */
    int64_t threads;
} bench_lane_options;

typedef struct bench_lane_facts {
    const char *model, *optimizer, *precision;
    int64_t batch, params;
    double flops; /* of one step's products */
} bench_lane_facts;

/* The models there are, as a flag's choices. */
#define BENCH_MODELS                                                                               \
    "mlp|cnn|resnet18_cifar|resnet50|bert_tiny_qa|bert_base_qa|gpt_char|mobilenet_v3_large|"       \
    "efficientnet_b0|regnet_y_400mf|densenet121|convnext_tiny|swin_t|unet"

MUST_USE status bench_lane_create(const bench_lane_options *options, bench_lane **ret, error *err);
void bench_lane_destroy(bench_lane **l);
bench_lane_facts bench_lane_of(const bench_lane *l);

/* Forward, backward and update. */
MUST_USE status bench_lane_step(bench_lane *l, error *err);

#endif
