/*
 * What a trial is told over the configuration: the values of its point and the metric it is judged by. Any thread.
 */
#ifndef TEQUIO_CLI_TUNE_TRIAL_VALUES_H
#define TEQUIO_CLI_TUNE_TRIAL_VALUES_H

#include "tune/space.h"

/* "--KEY=VALUE" each, NULL at the end; behind the dashes they are settings of config_load. The caller frees them by
 * trial_values_free. */
char **trial_values(const space *s, const double *point, const char *metric, int better);
void trial_values_free(char **words);

#endif
