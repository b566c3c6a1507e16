/*
 * The cuDNN that is installed, for tests that let it plan. No GPU is needed: the library plans for
 * one it is told about, the H200 of h200.json, and engines that make their code themselves load it
 * into a driver that looks at none (driver.c, as libcuda.so.1 on the path).
 */
#ifndef TEQUIO_TESTS_CUDA_SUPPORT_DNN_H
#define TEQUIO_TESTS_CUDA_SUPPORT_DNN_H

#include "backend/cuda/library/dnn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A program to plan for. */
typedef struct scene {
    backend backend;
    backend_program program;
} scene;

void scene_begin(scene *s);
void scene_end(scene *s);

/* Runs the tests; the only argument is the file that describes the GPU. Returns main's: 77 where
 * cuDNN is not. */
int dnn_tests_run(int argc, char **argv, const struct CMUnitTest *tests, size_t n);

#endif
