/*
 * A search as TensorBoard's HParams plugin shows it: DIR/hparams holds an event file that says what is searched, and
 * DIR/hparams/N one of trial N with its values, its objective, and its evaluations as a curve.
 *
 * They are written from the study, so they can be written again at any moment, after a kill too. Threads: pure.
 */
#ifndef TEQUIO_CLI_TUNE_HPARAMS_H
#define TEQUIO_CLI_TUNE_HPARAMS_H

#include "tune/study.h"

/* What is searched, and every trial that does not run; what was there is replaced. E_IO, E_DISK. */
MUST_USE status hparams_write(const study *s, const char *dir, const char *metric, error *err);
/* A trial that has come to an end, or was paused; likewise. */
MUST_USE status hparams_write_trial(const study *s, const trial *t, const char *dir, const char *metric, error *err);

#endif
