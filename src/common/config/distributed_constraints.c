#include "common/config/distributed_constraints.h"

#include "common/base/price.h"

#include <string.h>

static status check_staleness(const json_t *distributed, const char *mode, error *err)
{
    json_int_t staleness = json_integer_value(json_object_get(distributed, "staleness"));
    if (staleness && strcmp(mode, "ssp") != 0)
        return FAIL(err, E_CONFIG,
                    "distributed.staleness: %lld has no meaning in mode %s; expected 0, or mode ssp",
                    (long long)staleness, mode);
    return OK;
}

static status check_standbys(const json_t *distributed, const char *mode, error *err)
{
    if (json_integer_value(json_object_get(distributed, "ps_replicas")) && strcmp(mode, "sync") != 0)
        return FAIL(err, E_CONFIG,
                    "distributed.ps_replicas: standbys are kept in mode sync only, not in %s; use 0",
                    mode);
    return OK;
}

static status check_price(const json_t *distributed, error *err)
{
    const char *price = json_string_value(json_object_get(distributed, "page_price"));
    double per_hour;
    if (!price || price_parse(price, &per_hour))
        return OK;
    return FAIL(err, E_CONFIG, "distributed.page_price: \"%s\" is no price; " PRICE_FORM, price);
}

status distributed_constraints_check(const json_t *distributed, error *err)
{
    const char *mode = json_string_value(json_object_get(distributed, "mode"));
    TRY(check_staleness(distributed, mode, err));
    TRY(check_standbys(distributed, mode, err));
    return check_price(distributed, err);
}
