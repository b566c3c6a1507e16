/*
 * Names of hyper-parameters that programs for AI Platform take as arguments, as keys of the configuration: the table
 * is parameter_names.def. Threads: pure functions.
 */
#ifndef TEQUIO_JOB_SPEC_PARAMETER_NAMES_H
#define TEQUIO_JOB_SPEC_PARAMETER_NAMES_H

/* The key that a name stands for, which is the name itself if it is one; NULL: it stands for none. */
const char *parameter_key(const char *name);

/* The nearest name of the table, or path of a key; NULL: none is near. */
const char *parameter_near(const char *name);

#endif
