/*
 * The flag --price: what all that a job runs on costs.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_CLI_RUN_PAGE_PRICE_H
#define TEQUIO_CLI_RUN_PAGE_PRICE_H

#include "cli/line/command.h"

/* By the hour, 0 without the flag. E_USAGE: what it says is no price. */
MUST_USE status page_price_read(const args *a, double *ret_per_hour, error *err);
MUST_USE status page_price_check(const args *a, error *err);

/* E_USAGE: there is a price, and no page that would show it. */
MUST_USE status page_price_check_shown(const args *a, bool has_page, error *err);

#endif
