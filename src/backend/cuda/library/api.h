/*
 * The one table of what is opened at run time: cuBLASLt, cuDNN, NVRTC, NCCL. A library is looked for when
 * it is first asked for, and kept. A file that lacks one function of api.def does not count, and
 * the search goes on. Where it goes, in this order:
 *
 *   the folders that TEQUIO_CUDA_LIBRARIES names, with colons between, if it is set: then nowhere
 *   else; the word none hides all
 *   the program's folder, and ../lib/tequio from there
 *   $CUDA_HOME/lib64
 *   the wheels of an active Python environment, $VIRTUAL_ENV/lib/python3*
 *       /site-packages/nvidia/(any)/lib
 *   where the linker looks
 *   the wheels of the environment whose python3 is the first in PATH
 *
 * CUDA's driver is not opened here: the runtime, which is linked in, does that. Whether it is
 * there can be asked.
 * Threads: any.
 */
#ifndef TEQUIO_BACKEND_CUDA_LIBRARY_API_H
#define TEQUIO_BACKEND_CUDA_LIBRARY_API_H

#include "backend/cuda/library/abi.h"
#include "common/base/error.h"

#include <stdbool.h>

typedef enum api_library {
#define LIB(id, ...) API_##id,
#include "backend/cuda/library/api.def"
    API_COUNT
} api_library;

typedef struct api_table {
#define FN(lib, result, name, parameters) result(*name) parameters;
#include "backend/cuda/library/api.def"
} api_table;

/* A function may be called after api_open said OK for its library; before, it is NULL. */
extern api_table api;

typedef struct api_found {
    const char *name;       /* "cuDNN" */
    const char *path;       /* of the file; NULL: there is none */
    const char *why;        /* there is none: where it was looked for and what was wrong with each file */
    char version[16];       /* "9.19.0"; "" where there is none */
} api_found;

/* Looks for it if nobody did. The answer lives as long as the process. */
const api_found *api_find(api_library l);

/* Whether CUDA's driver has left its files on this machine: on Linux, in Windows' subsystem for it,
 * on boards with a GPU of their own. */
bool api_has_driver(void);

/* E_UNSUPPORTED "cuDNN is missing: ..." where there is none. */
MUST_USE status api_open(api_library l, error *err);

#endif
