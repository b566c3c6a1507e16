/* What an export has lost that training would need: exporters fold, merge and rename for inference.
 * Pure. */
#ifndef TEQUIO_ONNX_ADVICE_H
#define TEQUIO_ONNX_ADVICE_H

#include "onnx/model.h"

/* One sentence of what was found and what it means; NULL if nothing was. Free it. */
char *onnx_advice(const onnx_model *m);

#endif
