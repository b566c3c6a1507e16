/* A configuration with the given section dataset_reader. */
#ifndef TEST_SUPPORT_CONFIG_H
#define TEST_SUPPORT_CONFIG_H

#include "common/config/config.h"

config *test_config(const char *dataset_reader);

#endif
