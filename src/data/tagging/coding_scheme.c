/* See coding_scheme.h. */
#include "data/tagging/coding_scheme.h"

#include <string.h>

coding_scheme coding_scheme_of(const char *name)
{
    static const char *const names[] = {[CODING_IOB1] = "IOB1", [CODING_BIO] = "BIO", [CODING_BIOUL] = "BIOUL"};
    for (int i = CODING_IOB1; name && i <= CODING_BIOUL; i++)
        if (strcmp(names[i], name) == 0)
            return (coding_scheme)i;
    return CODING_AS_IT_IS;
}

static bool is_outside(const tag_text *t)
{
    return t->bytes == 1 && t->text[0] == 'O';
}

bool coding_scheme_knows(const tag_text *t)
{
    return is_outside(t) || (t->bytes && memchr("BILU", t->text[0], 4) && (t->bytes == 1 || t->text[1] == '-'));
}

static bool same_label(const tag_text *a, const tag_text *b)
{
    return a->bytes == b->bytes && memcmp(a->text + 1, b->text + 1, a->bytes - 1) == 0;
}

/* Are words i - 1 and i of spans with one label? */
static bool follows(const tag_text *row, size_t i)
{
    return i > 0 && !is_outside(&row[i - 1]) && same_label(&row[i - 1], &row[i]);
}

static bool begins(const tag_text *row, size_t i)
{
    char letter = row[i].text[0], before = i > 0 ? row[i - 1].text[0] : 'O';
    return letter == 'B' || letter == 'U' || before == 'L' || before == 'U' || !follows(row, i);
}

static char letter_of(coding_scheme to, const tag_text *row, size_t n, size_t i)
{
    bool first = begins(row, i);
    bool last = i + 1 == n || is_outside(&row[i + 1]) || begins(row, i + 1);
    if (to == CODING_IOB1)
        return first && follows(row, i) ? 'B' : 'I';
    if (to == CODING_BIO)
        return first ? 'B' : 'I';
    return first && last ? 'U' : first ? 'B' : last ? 'L' : 'I';
}

void coding_scheme_write(coding_scheme to, const tag_text *row, size_t n, size_t i, buf *ret)
{
    char letter = row[i].text[0];
    if (to != CODING_AS_IT_IS && !is_outside(&row[i]))
        letter = letter_of(to, row, n, i);
    buf_add(ret, &letter, 1);
    buf_add(ret, row[i].text + 1, row[i].bytes - 1);
}
