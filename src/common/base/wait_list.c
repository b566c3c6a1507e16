#include "common/base/wait_list.h"

#include <stdarg.h>
#include <stdio.h>

void wait_list_add(wait_list *l, log_level level, const char *format, ...)
{
    if (l->n == WAITS_MOST) {
        l->left_out++;
        return;
    }
    wait_said *one = &l->at[l->n++];
    *one = (wait_said){.level = level};
    va_list args;
    va_start(args, format);
    vsnprintf(one->text, sizeof one->text, format, args);
    va_end(args);
}

void wait_list_words(wait_list *l, double since_s, const char *whom, const char *format, ...)
{
    if (l->left_out)
        return; /* nor was it added */
    wait_said *one = &l->at[l->n - 1];
    one->since_s = since_s;
    snprintf(one->whom, sizeof one->whom, "%s", whom ? whom : "");
    va_list args;
    va_start(args, format);
    vsnprintf(one->words, sizeof one->words, format, args);
    va_end(args);
}

void wait_list_log(const wait_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        log_line(l->at[i].level, "WAIT", "%s", l->at[i].text);
    if (l->left_out)
        LOG_W("WAIT", "and for %zu more", l->left_out);
}
