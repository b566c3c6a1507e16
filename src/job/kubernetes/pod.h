/* The pods of a role, as both forms of the manifest have them. Pure functions. */
#ifndef TEQUIO_JOB_KUBERNETES_POD_H
#define TEQUIO_JOB_KUBERNETES_POD_H

#include "common/base/json.h"
#include "job/kubernetes/manifest.h"

/* Names and values for the metadata of an object; `component` NULL: it is the whole job's. */
json_t *pod_metadata(const kubernetes_options *o, const char *name, const char *component);

/* "metadata" and "spec" of a PodTemplateSpec. `environment`, a list, is taken; NULL: nothing
 * more. */
json_t *pod_template(const kubernetes_options *o, role r, json_t *environment);

/* No claim that is given holds the job dir: it has one of its own. */
bool pod_owns_claim(const kubernetes_options *o);

/* Appends the claims that are given to lists of "volumes" and of a container's "volumeMounts". */
void pod_add_claims(const kubernetes_options *o, json_t *volumes, json_t *mounts);

const char *pod_image(const kubernetes_options *o, role r);

#define POD_CONTAINER "tensorflow" /* the training operator looks for these two */
#define POD_PORT      "tfjob-port"

#define POD_METRICS_PORT "metrics"

#endif
