/*
 * The picture of a search: objectives over trials, and over each parameter. Threads: pure.
 */
#ifndef TEQUIO_CLI_TUNE_TRIALS_PLOT_H
#define TEQUIO_CLI_TUNE_TRIALS_PLOT_H

#include "tune/study.h"

/* A PNG, if a trial is complete; else nothing. E_IO, E_DISK. */
MUST_USE status trials_plot_write(const char *path, const study *s, const char *metric, error *err);

#endif
