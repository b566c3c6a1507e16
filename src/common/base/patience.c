#include "common/base/patience.h"

enum { FIRST_US = 1000000, LONGEST_US = 8000000 };

void patience_begin(patience *p, int64_t now_us)
{
    *p = (patience){.wait_us = FIRST_US, .until_us = now_us + FIRST_US};
}

bool patience_ends(patience *p, int64_t now_us)
{
    if (now_us < p->until_us)
        return false;
    p->wait_us = p->wait_us < LONGEST_US / 2 ? 2 * p->wait_us : LONGEST_US;
    p->until_us = now_us + p->wait_us;
    return true;
}
