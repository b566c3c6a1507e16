/* See chars.h: two tables of 256, of which the first says where the second is. */
#include "text/chars.h"

#include "common/base/alloc.h"
#include "common/base/error.h"

#include <pthread.h>
#include <string.h>

enum { PAGES = 512 }; /* different ones; page 0 is empty */

uint16_t chars_pages[UTF8_CODES / CHARS_PAGE];
uint16_t chars_bits[PAGES][CHARS_PAGE];

static const struct {
    uint32_t first, last;
    uint16_t bits;
} ranges[] = {
#define X(first, last, bits) {first, last, bits},
#include "text/chars.def"
#undef X
};

static const struct {
    uint32_t first, last;
    int32_t step, add;
} lowered[] = {
#define LOWER(first, last, step, add) {first, last, step, add},
#include "text/chars.def"
#undef LOWER
};

/* The page of code points that `bits` fills, shared by all that it fills. */
static uint16_t full_page(uint16_t bits, uint16_t *used)
{
    for (uint16_t i = 1; i < *used; i++)
        if (chars_bits[i][0] == bits && memcmp(chars_bits[i], chars_bits[i] + 1,
                                               sizeof chars_bits[i] - sizeof bits) == 0)
            return i;
    BUG_ON(*used == PAGES);
    for (int i = 0; i < CHARS_PAGE; i++)
        chars_bits[*used][i] = bits;
    return (*used)++;
}

static void fill(void)
{
    uint16_t used = 1;
    for (size_t r = 0; r < COUNT_OF(ranges); r++)
        for (uint32_t code = ranges[r].first; code <= ranges[r].last; code++) {
            uint32_t page = code / CHARS_PAGE;
            if (code % CHARS_PAGE == 0 && code + CHARS_PAGE - 1 <= ranges[r].last) {
                chars_pages[page] = full_page(ranges[r].bits, &used);
                code += CHARS_PAGE - 1;
                continue;
            }
            if (chars_pages[page] == 0) {
                BUG_ON(used == PAGES);
                chars_pages[page] = used++;
            }
            chars_bits[chars_pages[page]][code % CHARS_PAGE] = ranges[r].bits;
        }
}

void chars_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
}

size_t chars_lower(uint32_t code, uint32_t ret[2])
{
    ret[0] = code;
    if (code == 0x130) { /* I with a dot: the only one that becomes two */
        ret[0] = 'i';
        ret[1] = 0x307;
        return 2;
    }
    size_t low = 0, high = COUNT_OF(lowered);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (code > lowered[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < COUNT_OF(lowered) && code >= lowered[low].first &&
        (code - lowered[low].first) % (uint32_t)lowered[low].step == 0)
        ret[0] = (uint32_t)((int32_t)code + lowered[low].add);
    return 1;
}
