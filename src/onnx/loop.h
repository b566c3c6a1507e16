/*
 * Loop, Scan and SequenceMap: their bodies are walked once an iteration, with names of its own, so
 * a graph has as many copies of the body as there are iterations. How many there are must be known
 * when the graph is built; a count or a condition that depends on data is refused. Only for
 * control.c.
 */
#ifndef TEQUIO_ONNX_LOOP_H
#define TEQUIO_ONNX_LOOP_H

#include "onnx/call.h"

translate_fn loop_walk, loop_scan, loop_map;

#endif
