/*
 * DIR/best: the model of the best trial so far, as `tequio evaluate`, `predict` and `export` take it: its weights with
 * the best evaluation, configuration, vocabulary, metrics and summary, whose `params_sha256` is theirs, and trial.json
 * with its number, objective and values. The folder is whole or not there; a search that goes on makes it again where a
 * kill has left none.
 *
 * Threads: the main one.
 */
#ifndef TEQUIO_CLI_TUNE_BEST_TRIAL_H
#define TEQUIO_CLI_TUNE_BEST_TRIAL_H

#include "cli/tune/trial_files.h"
#include "tune/study.h"

/* Puts the model of study_best into DIR/best, if it is not there. Nothing if no trial is complete. Files are links to
 * those of its job dir where these can be. E_DATA: the job dir lacks one; E_IO, E_DISK. */
MUST_USE status best_trial_keep(const study *s, const trial_files *f, const char *dir, error *err);

#endif
