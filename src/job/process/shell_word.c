#include "job/process/shell_word.h"

void shell_word_add(const char *text, buf *ret)
{
    buf_adds(ret, "'");
    for (const char *c = text; *c; c++)
        if (*c == '\'')
            buf_adds(ret, "'\\''");
        else
            buf_add(ret, c, 1);
    buf_adds(ret, "'");
}
