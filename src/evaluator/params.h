/*
 * Weights into the place where a model reads them: by tensor name, so it does not matter how the
 * job that trained them laid them out. Pure.
 */
#ifndef TEQUIO_EVALUATOR_PARAMS_H
#define TEQUIO_EVALUATOR_PARAMS_H

#include "common/parts/flat.h"
#include "common/store/weights.h"

/* ret_values[f->n_elements] is filled where tensors lie. E_DATA names the tensor that is missing or
 * has another type or shape, and then says `hint`; tensors too many are ignored. E_CONFIG: adapters
 * of model.lora that the model has not. */
MUST_USE status params_take(const flat *f, const weights *w, const char *hint, float *ret_values,
                            error *err);

#endif
