/*
 * The CUDA backend: what backend.h says it can do, whether it was built, and what there is of the
 * libraries that it opens at run time. Where it was not built, src/backend/absent.c answers, and
 * backend_cuda refuses to be opened: E_UNSUPPORTED.
 * Threads: any.
 */
#ifndef TEQUIO_BACKEND_CUDA_CUDA_H
#define TEQUIO_BACKEND_CUDA_CUDA_H

#include "backend/backend.h"
#include "backend/cuda/gpus.h"

#include <stddef.h>

extern const backend_ops backend_cuda;

typedef struct cuda_library {
    const char *name;       /* "cuDNN" */
    const char *version;    /* "9.19.0" */
    const char *path;       /* of its file; NULL: there is none on this machine */
    const char *why;        /* there is none: where it was looked for */
    const char *instead;    /* ... and what is done without */
    const char *limits;     /* "" or what the one that is there is too old for */
} cuda_library;

enum { CUDA_LIBRARIES_MAX = 4 };

/* Opens all there are, fills at most CUDA_LIBRARIES_MAX rows and returns their number; 0 if the
 * backend was not built. The texts live as long as the process. */
size_t cuda_libraries(cuda_library *ret);

/* What every lane on a GPU does unless a variable of the environment says otherwise, and what then. */
typedef struct cuda_habit {
    const char *name;       /* "graphs" */
    const char *usual, *otherwise;
    const char *variable;   /* "TEQUIO_CUDA_GRAPHS": otherwise if it is 0, or... */
    bool is_asked;          /* ...if it is set, and not 0 */
    const char *set;        /* what it is, where that matters; NULL: as usual */
} cuda_habit;

enum { CUDA_HABITS_MAX = 5 };

/* As cuda_libraries. */
size_t cuda_habits(cuda_habit *ret);

/* What a GPU of a kind, "sm_75", cannot; "" for one that can all. */
const char *cuda_limits(const char *arch);

#endif
