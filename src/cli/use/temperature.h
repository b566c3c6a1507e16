/*
 * Temperatures that were fitted to a model's scores (`tequio evaluate --temperature`), kept beside the model's
 * config.json in temperature.json, by the SHA-256 of the weights: what was fitted to others is not taken for it.
 *
 * Threads: main thread only.
 */
#ifndef TEQUIO_CLI_USE_TEMPERATURE_H
#define TEQUIO_CLI_USE_TEMPERATURE_H

#include "cli/use/trained_model.h"

#include <jansson.h>

/* `found` is "temperature" of details.h, of the data at `data`. A model that is no folder, as an archive, has no place
 * for it, and a warning says so. E_DATA: there is no temperature. E_IO. */
MUST_USE status temperature_keep(const trained_model *s, const json_t *found, const char *data, error *err);

/* `text`: a number above 0, or "fitted", which is what was kept for these weights. E_USAGE; E_DATA: nothing was. */
MUST_USE status temperature_read(const trained_model *s, const char *text, double *ret, error *err);

#endif
