/*
 * Inside of the cuDNN that is played: dnn_desc.c keeps descriptors, dnn.c names engines and
 * puts graphs on streams; dnn_<family>.c knows one kind of graph each, by its form, and how it is
 * computed.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_FAKES_DNN_H
#define TEQUIO_TESTS_CUDA_EMU_FAKES_DNN_H

#include "backend/cuda/library/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- what was set of a finalized descriptor; 0 and NULL where nothing was --- */

unsigned told_kind(dnn_desc d);
/* n values, of which the caller knows the type. */
const void *told_values(dnn_desc d, unsigned attribute, int64_t *ret_n);
unsigned told_word(dnn_desc d, unsigned attribute);
bool told_flag(dnn_desc d, unsigned attribute);
int64_t told_number(dnn_desc d, unsigned attribute);
float told_float(dnn_desc d, unsigned attribute);
double told_double(dnn_desc d, unsigned attribute);
dnn_desc told_part(dnn_desc d, unsigned attribute);

/* --- a kind of graph --- */

enum { DNN_CALL_BYTES = 1024, DNN_TENSORS = 20 };

/* What is computed, all but addresses. */
typedef struct dnn_problem dnn_problem;
struct dnn_problem {
    const char *name;
    size_t workspace;
    bool is_float32;   /* its factors are: tensor cores round them */
    bool tensor_cores; /* those were chosen; when it is bound */
    int n_tensors;
    dnn_desc tensors[DNN_TENSORS]; /* in memory, or numbers; NULL: none */
    /* Puts where each begins, and the workspace, into the arguments. */
    void (*bind)(dnn_problem *p, void *const addresses[], void *workspace);
    void (*compute)(void *arguments); /* as a kernel of one thread */
    size_t bytes;                     /* of the arguments */
    _Alignas(16) unsigned char arguments[DNN_CALL_BYTES];
};

/* Whether it is of this family; then *ret is filled. */
bool dnn_attention_of(const dnn_desc operations[], int64_t n, dnn_problem *ret);
bool dnn_conv_of(const dnn_desc operations[], int64_t n, dnn_problem *ret);

/* Bytes from the first to the last element. */
size_t tensor_extent(dnn_desc tensor);

#endif
