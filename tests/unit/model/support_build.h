/* Building models of a configuration's section `model`, for batches of BUILD_BATCH. */
#ifndef TEQUIO_TESTS_UNIT_MODEL_SUPPORT_BUILD_H
#define TEQUIO_TESTS_UNIT_MODEL_SUPPORT_BUILD_H

#include "model/model.h"

enum { BUILD_BATCH = 2 };

/* The graph; what fails fails the test with the error's text. */
graph *built(const char *model, model_mode mode, const data_field *fields, size_t n);
/* Numbers of parameters that may move. */
int64_t built_trainable(const graph *g);
/* Building it for training is E_CONFIG, with this text. */
void refused(const char *model, const data_field *fields, size_t n, const char *text);

#endif
