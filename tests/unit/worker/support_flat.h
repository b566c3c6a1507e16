/* A flat vector of three live parts and a frozen one, for the tests of the worker's rooms. */
#ifndef TEQUIO_TESTS_UNIT_WORKER_SUPPORT_FLAT_H
#define TEQUIO_TESTS_UNIT_WORKER_SUPPORT_FLAT_H

#include "common/parts/flat.h"

flat *support_flat(void);

#endif
