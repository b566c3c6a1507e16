/*
 * The smallest image for containers in which this program runs: itself and the libraries it has
 * loaded, each where it is on this machine, and nothing else. It needs no registry.
 *
 * Its name tells the hash of all that is in it, so one that is there already is the right one. What
 * a process opens later, such as NVIDIA's libraries, is not in it: take the list at the beginning.
 *
 * Ownership: in the arena given. Threads: the launcher's only one.
 * Source: the Dockerfile reference (https://docs.docker.com/reference/dockerfile/).
 */
#ifndef TEQUIO_JOB_DOCKER_IMAGE_H
#define TEQUIO_JOB_DOCKER_IMAGE_H

#include "common/base/alloc.h"
#include "common/base/buf.h"

#define IMAGE_PROGRAM "/usr/bin/tequio"

typedef struct image {
    const char *name;   /* "tequio:0123456789abcdef" */
    const char **paths; /* [n] of the libraries, absolute */
    int n;
} image;

/* E_IO. */
MUST_USE status image_of_this_program(arena *memory, image *ret, error *err);

void image_dockerfile(const image *i, buf *ret);

/* Has docker build it, unless it is there. `folder` keeps the Dockerfile. E_IO; E_FAIL in docker's
 * words. */
MUST_USE status image_make(const image *i, const char *folder, error *err);

#endif
