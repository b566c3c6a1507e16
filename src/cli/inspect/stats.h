/* Numbers of values for a report. Pure functions. */
#ifndef TEQUIO_CLI_INSPECT_STATS_H
#define TEQUIO_CLI_INSPECT_STATS_H

#include <jansson.h>
#include <stddef.h>

/* Numbers of values, gathered one by one and told as "min", "max", "mean", "std". Two rounds over
 * the values: inspect_stats_add for all of them, then inspect_stats_add_again for all of them. */
typedef struct inspect_stats {
    size_t n, n_bad; /* finite ones, others */
    double min, max, sum, squares;
} inspect_stats;

void inspect_stats_add(inspect_stats *s, double x);
void inspect_stats_add_again(inspect_stats *s, double x);
/* Sets the keys in `o`; null where there is no finite value. */
void inspect_stats_tell(const inspect_stats *s, json_t *o);

#endif
