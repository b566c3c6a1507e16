#include "common/base/backoff.h"

enum { FIRST_US = 1000000, LONGEST_US = 8000000 };

void backoff_begin(backoff *p, int64_t now_us)
{
    *p = (backoff){.wait_us = FIRST_US, .until_us = now_us + FIRST_US};
}

bool backoff_expired(backoff *p, int64_t now_us)
{
    if (now_us < p->until_us)
        return false;
    p->wait_us = p->wait_us < LONGEST_US / 2 ? 2 * p->wait_us : LONGEST_US;
    p->until_us = now_us + p->wait_us;
    return true;
}
