/*
 * Version 0 of a model's weights, where files bring some of them: tensors declared INIT_PUSHED of
 * an ONNX file, and those that model.pretrained finds by name. The start of a job writes them as its
 * first checkpoint, so servers need to know nothing of models.
 * Threads: pure functions, apart from the files they read.
 */
#ifndef TEQUIO_MODEL_INITIAL_H
#define TEQUIO_MODEL_INITIAL_H

#include "common/base/buf.h"
#include "common/config/config.h"
#include "common/parts/flat.h"
#include "common/store/facts.h"

/* Whether the section `model` names a file with weights. */
bool model_brings_weights(const config *model);

/* All of version 0: out[f->n_elements]. `report` gets a line on where they come from. E_DATA names
 * a tensor that the file lacks, or that is not finite. */
MUST_USE status model_initial(const config *model, const flat *f, uint64_t seed, float *out,
                              buf *report, error *err);
/* The same of a model that brings weights and is asked, not trained. E_DATA or E_CONFIG where a tensor would be drawn
 * that pretrained.ignore does not name. */
MUST_USE status model_learnt(const config *model, const flat *f, uint64_t seed, float *out, buf *report, error *err);

/* Appends what the files are that the section names (common/store/facts.h). Of one that is not here
 * nothing is told. E_DATA, E_IO. */
MUST_USE status model_facts(const config *model, facts_check how, buf *ret, error *err);

/* What a user should know of the file before it trains, or NULL. Free it. */
char *model_advice(const config *model);

#endif
