/*
 * What an hour costs, as people write it: "2.1/h", "0.04/min", of all that a job runs on.
 *
 * Threads: a pure function.
 */
#ifndef TEQUIO_CLI_RUN_PAGE_PRICE_H
#define TEQUIO_CLI_RUN_PAGE_PRICE_H

#include "common/base/error.h"

/* NULL is no price: 0. E_USAGE: it is none above 0. */
MUST_USE status page_price_read(const char *text, double *ret_per_hour, error *err);

#endif
