/* Sizes as people write them: "8GB", "1.5 GB", "512MiB", "1000000"; kB, MB, GB and TB are powers of 1000, KiB, MiB,
 * GiB and TiB of 1024. Pure. */
#ifndef TEQUIO_COMMON_BASE_BYTE_SIZE_H
#define TEQUIO_COMMON_BASE_BYTE_SIZE_H

#include <stdbool.h>
#include <stddef.h>

/* False if it is none, or 0. */
bool byte_size_parse(const char *text, size_t *ret);

#endif
