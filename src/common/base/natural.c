/* See natural.h. */
#include "common/base/natural.h"

#include <stdbool.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Both begin with a number, and go on behind it where they are equal. */
static int compare_numbers(const char **a, const char **b)
{
    *a += strspn(*a, "0");
    *b += strspn(*b, "0");
    size_t n = strspn(*a, "0123456789"), m = strspn(*b, "0123456789");
    int order = n != m ? (n < m ? -1 : 1) : strncmp(*a, *b, n);
    *a += n;
    *b += m;
    return order;
}

int natural_compare(const char *a, const char *b)
{
    while (*a && *b) {
        bool are_numbers = is_digit(*a) && is_digit(*b);
        int order = are_numbers ? compare_numbers(&a, &b) : 0;
        if (order)
            return order;
        if (!are_numbers && *a != *b)
            break;
        a += !are_numbers;
        b += !are_numbers;
    }
    return (unsigned char)*a - (unsigned char)*b;
}
