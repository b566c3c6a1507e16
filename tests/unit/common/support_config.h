/* Loading configurations in tests: a refusal fails the test. */
#ifndef TEQUIO_TESTS_UNIT_COMMON_SUPPORT_CONFIG_H
#define TEQUIO_TESTS_UNIT_COMMON_SUPPORT_CONFIG_H

#include "common/config/config.h"

extern const char config_smallest[];    /* only what must be given */
extern const char config_layered[];     /* layers within layers */

config *config_load_or_fail(const config_source *source);
config *config_load_text(const char *text);
config *config_load_set(const char *text, const char *setting);

#endif
