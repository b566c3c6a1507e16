/*
 * What an hour costs, as people write it: "2.1/h", "0.04/min".
 *
 * Threads: a pure function.
 */
#ifndef TEQUIO_COMMON_BASE_PRICE_H
#define TEQUIO_COMMON_BASE_PRICE_H

#include <stdbool.h>

/* For messages about one that is none. */
#define PRICE_FORM "a number above 0 and a time are needed, as 2.1/h; times are s, min, h, day"

/* False if it is none above 0. */
bool price_parse(const char *text, double *ret_per_hour);

#endif
