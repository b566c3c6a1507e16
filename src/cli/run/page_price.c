#include "cli/run/page_price.h"

#include "common/base/price.h"

status page_price_read(const args *a, double *ret_per_hour, error *err)
{
    const char *text = args_text(a, "price");
    double per_hour = 0;
    if (text && !price_parse(text, &per_hour))
        return FAIL(err, E_USAGE, "--price %s: " PRICE_FORM, text);
    *ret_per_hour = per_hour;
    return OK;
}

status page_price_check(const args *a, error *err)
{
    double per_hour;
    return page_price_read(a, &per_hour, err);
}

status page_price_check_shown(const args *a, bool has_page, error *err)
{
    if (has_page || !args_has(a, "price"))
        return OK;
    return FAIL(err, E_USAGE, "--price is what the job's page shows: give --page too");
}
