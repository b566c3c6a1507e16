/*
 * If. A condition that is known takes its branch, and the other one is not looked at. One that
 * depends on data has both computed and a choice made between what they give: so these must be of
 * one shape, and what is computed in vain must do no harm. Only for control.c.
 */
#ifndef TEQUIO_ONNX_BRANCH_H
#define TEQUIO_ONNX_BRANCH_H

#include "onnx/call.h"

translate_fn branch_walk;

#endif
