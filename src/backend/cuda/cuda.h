/*
 * The CUDA backend: what backend.h says it can do, whether it was built, and what there is of the
 * libraries that it opens at run time. Where it was not built, src/backend/absent.c answers, and
 * backend_cuda refuses to be opened: E_UNSUPPORTED.
 * Threads: any.
 */
#ifndef TEQUIO_BACKEND_CUDA_CUDA_H
#define TEQUIO_BACKEND_CUDA_CUDA_H

#include "backend/backend.h"

#include <stddef.h>

extern const backend_ops backend_cuda;

/* By what and for which chips it was built, "nvcc 13.0.88, sm_80 sm_90 compute_90"; NULL: it was
 * not. */
const char *cuda_build(void);

/* Whether there is this GPU: E_DEVICE, or E_UNSUPPORTED if the backend was not built, with what
 * would help. Takes nothing of it; describe() begins to use it. */
MUST_USE status cuda_find(int device, error *err);

/* Whether a driver has left its files on this machine; opens nothing. False if the backend was not
 * built. GPUs that are named are tried all the same. */
bool cuda_has_driver(void);

enum { CUDA_GPUS_MAX = 64 };

/* GPUs of one kind, which give the same bits. */
typedef struct cuda_gpus {
    int n, visible;         /* so many are there, of any kind */
    int number[CUDA_GPUS_MAX];
} cuda_gpus;

/* The first GPU that this program has code for, and those like it. None, and OK, where there is no
 * driver or no GPU; if there are GPUs and none can be used the error says why. Takes some of their
 * memory, which the process does not give back. */
MUST_USE status cuda_look(cuda_gpus *ret, error *err);

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

/* What every lane on a GPU does unless a variable of the environment is 0, and what then. */
typedef struct cuda_habit {
    const char *name;       /* "graphs" */
    const char *usual, *otherwise;
    const char *variable;   /* "TEQUIO_CUDA_GRAPHS" */
    bool is_off;
} cuda_habit;

enum { CUDA_HABITS_MAX = 4 };

/* As cuda_libraries. */
size_t cuda_habits(cuda_habit *ret);

/* What a GPU of a kind, "sm_75", cannot; "" for one that can all. */
const char *cuda_limits(const char *arch);

#endif
