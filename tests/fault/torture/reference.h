/*
 * Jobs to which nothing is done: of each configuration one, in one process, made when it is first
 * asked for and kept. Several processes may ask at once. Threads: one.
 */
#ifndef TEQUIO_TESTS_FAULT_TORTURE_REFERENCE_H
#define TEQUIO_TESTS_FAULT_TORTURE_REFERENCE_H

#include <stdbool.h>

typedef struct reference {
    char *job; /* its job dir */
    double processor_s;
} reference;

/* Below `root`. False, with a word on standard output: it cannot be trained. */
bool reference_get(const char *program, const char *root, const char *config, reference *ret);
void reference_fini(reference *r);

/* Data of a few hundred examples, and a network in ONNX, in the folder `data`. False likewise. */
bool reference_make_data(const char *program, const char *make_idx, const char *data);

#endif
