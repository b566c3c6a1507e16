/*
 * What an ONNX file is, as facts (common/store/facts.h): all of it but for large values is hashed whole,
 * for whoever computes with the file computes with every node of it; of large values, and of external
 * data, samples. Any thread.
 */
#ifndef TEQUIO_ONNX_FACTS_H
#define TEQUIO_ONNX_FACTS_H

#include "common/store/facts.h"

/* Appends them; `file` is the option that names the path. E_DATA, E_IO if it cannot be read. */
MUST_USE status onnx_facts(const char *path, const char *file, facts_check how, buf *ret, error *err);

#endif
