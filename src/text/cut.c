/* See cut.h. */
#include "text/cut.h"

const char *const cut_behavior_words[] = {"Removed",        "Isolated",   "MergedWithPrevious",
                                          "MergedWithNext", "Contiguous", NULL};

cutter cutter_begin(cut_behavior behavior, bool inverted, const run *in, pieces *out)
{
    return (cutter){.behavior = behavior, .inverted = inverted, .in = in, .out = out};
}

/* Whether a part goes on with the one that waits. */
static bool joins(const cutter *c, bool is_delimiter)
{
    switch (c->behavior) {
    case CUT_CONTIGUOUS: return is_delimiter == c->was_delimiter;
    case CUT_MERGED_WITH_PREVIOUS: return is_delimiter && !c->was_delimiter;
    case CUT_MERGED_WITH_NEXT: return !is_delimiter && c->was_delimiter;
    default: return false;
    }
}

void cutter_part(cutter *c, uint32_t begin, uint32_t end, bool is_delimiter)
{
    if (begin == end)
        return;
    is_delimiter = is_delimiter != c->inverted;
    if (c->begin < c->end && joins(c, is_delimiter)) {
        c->end = end;
    } else {
        cutter_end(c);
        c->begin = begin;
        c->end = is_delimiter && c->behavior == CUT_REMOVED ? begin : end;
    }
    c->was_delimiter = is_delimiter;
}

void cutter_end(cutter *c)
{
    pieces_cut(c->out, c->in, c->begin, c->end);
    c->begin = c->end = 0;
}
