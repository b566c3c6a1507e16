/* A configuration with the given section dataset_reader. */
#ifndef TEQUIO_TESTS_UNIT_DATA_SUPPORT_CONFIG_H
#define TEQUIO_TESTS_UNIT_DATA_SUPPORT_CONFIG_H

#include "common/config/config.h"

config *test_config(const char *dataset_reader);

#endif
