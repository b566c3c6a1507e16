#include "text/clusters.h"

#include "text/chars.h"

#include <utf8proc.h>

uint32_t clusters_end(const char *text, uint32_t begin, uint32_t end)
{
    utf8proc_int32_t state = 0;
    size_t n;
    uint32_t at = begin, last = chars_next(text + at, &n);
    for (at += (uint32_t)n; at < end; at += (uint32_t)n) {
        uint32_t next = chars_next(text + at, &n);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)last, (utf8proc_int32_t)next, &state))
            break;
        last = next;
    }
    return at;
}
