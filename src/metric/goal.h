/*
 * AllenNLP's validation_metric: what evaluations are compared by. "-loss", "+accuracy", or a list of such, whose sum
 * by these signs is compared.
 *
 * Threads: values; pure functions.
 */
#ifndef TEQUIO_METRIC_GOAL_H
#define TEQUIO_METRIC_GOAL_H

#include "common/config/config.h"

enum { METRIC_GOALS = 8 };

typedef struct metric_goal {
    size_t n;
    struct {
        const char *name; /* of the text that was parsed */
        int sign;         /* +1: larger is better, -1: smaller is */
    } at[METRIC_GOALS];
} metric_goal;

/* One more, "+accuracy"; `text` is kept. E_CONFIG. */
MUST_USE status metric_goal_add(metric_goal *g, const char *text, error *err);

/* Of the whole configuration. E_CONFIG. */
MUST_USE status metric_goal_settings(const config *c, metric_goal *ret, error *err);

#endif
