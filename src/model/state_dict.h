/*
 * What torch.save writes of a state dict, read without running any of it: Python's pickle is a program,
 * and this knows only the steps that a dict of tensors takes. Whatever else stands there, a name of
 * Python's above all, is refused by name.
 *
 * Pure functions of the bytes.
 */
#ifndef TEQUIO_MODEL_STATE_DICT_H
#define TEQUIO_MODEL_STATE_DICT_H

#include "common/base/alloc.h"
#include "common/base/dtype.h"
#include "common/base/error.h"
#include "common/parts/flat.h"

/* A tensor of a state dict: where its elements lie in a storage, an entry of the zip file. */
typedef struct state_entry {
    const char *name;
    const char *storage;            /* "0", "1", ...: the entry data/<storage> */
    dtype dtype;
    int64_t stored;                 /* elements of the storage */
    int64_t begin;                  /* the tensor's first; all of them lie within, one after another */
    int32_t rank;
    int64_t dim[TENSOR_RANK];
} state_entry;

typedef struct state_dict {
    const state_entry *at;          /* [n], in the arena */
    size_t n;
} state_dict;

/* `data` is the entry data.pkl; `origin` names the file in messages. E_DATA names the byte, or the tensor. */
MUST_USE status state_dict_read(const unsigned char *data, size_t bytes, const char *origin, arena *a,
                                state_dict *ret, error *err);

#endif
