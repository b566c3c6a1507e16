/* Volumes that the pods of a job see, and what a name of Kubernetes is. Pure functions. */
#ifndef TEQUIO_JOB_KUBERNETES_CLAIM_H
#define TEQUIO_JOB_KUBERNETES_CLAIM_H

#include "common/base/alloc.h"
#include "common/base/error.h"

#include <stdbool.h>

enum { KUBERNETES_NAME = 64 }; /* bytes of a name, a label of DNS */

/* Whether it may be the name of a claim or of a namespace. */
bool kubernetes_is_name(const char *text);

/* A PersistentVolumeClaim. */
typedef struct kubernetes_claim {
    const char *name; /* NULL: the end of a list */
    const char *path; /* absolute, where all pods see it */
} kubernetes_claim;

/* "work:/mnt/work,data:/data" E_USAGE. */
MUST_USE status kubernetes_claims(const char *text, arena *memory, const kubernetes_claim **ret, error *err);

/* Whether a path, absolute, is one that a claim of the list is seen at, or below one. */
bool kubernetes_is_claimed(const kubernetes_claim *claims, const char *path);

#endif
