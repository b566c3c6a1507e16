/* Descriptors of the cuDNN that is played: what may be set of each kind, and what was (dnn.h). */
#ifndef TEQUIO_TESTS_CUDA_EMU_FAKES_DNN_DESC_H
#define TEQUIO_TESTS_CUDA_EMU_FAKES_DNN_DESC_H

#include "cuda_emu/fakes/dnn.h"

enum { SET_MOST = 8 };

typedef struct set {
    unsigned attribute;
    int64_t n;
    void *values;
} set;

/* Behind a dnn_desc. An engine, a configuration and a plan are number `engine` of `graph`. */
typedef struct desc {
    unsigned kind;
    bool is_final;
    int n_set, engine;
    set sets[SET_MOST];
    dnn_desc graph;
} desc;

int desc_count(void); /* that live */

/* The vendor's functions of these names; a broken rule is a fault. */
unsigned desc_create(unsigned kind, dnn_desc *ret);
unsigned desc_destroy(dnn_desc d);
unsigned desc_set(dnn_desc d, unsigned attribute, unsigned type, int64_t n, const void *values);
void desc_last_error(char *ret, size_t bytes);

/* Whether anything that is needed was not set. */
bool desc_lacks(const desc *d);
/* `result`, whose reason desc_last_error() will tell. */
unsigned desc_refuse(unsigned result, const char *why);

#endif
