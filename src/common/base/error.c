#include "common/base/error.h"

#include "common/base/console.h"
#include "common/base/descriptor_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int exit_code;
} statuses[STATUS_COUNT] = {
#define X(code, text, exit) [code] = {text, exit},
    STATUS_MAP(X)
#undef X
};

const char *status_name(status s)
{
    return s < STATUS_COUNT ? statuses[s].name : "unknown status";
}

int status_exit_code(status s)
{
    return s < STATUS_COUNT ? statuses[s].exit_code : 1;
}

status error_set(error *err, status s, const char *format, ...)
{
    if (err && err->code == OK) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        descriptor_limit_explain(err->text, sizeof err->text);
        err->code = s;
    }
    return s;
}

void error_prepend(error *err, const char *format, ...)
{
    if (!err || err->code == OK)
        return;
    char context[ERROR_TEXT / 2]; /* however long, it leaves the cause half of the room */
    va_list args;
    va_start(args, format);
    int n = vsnprintf(context, sizeof context - 2, format, args);
    va_end(args);
    if (n < 0)
        return;
    size_t used = (size_t)n < sizeof context - 2 ? (size_t)n : sizeof context - 3;
    memcpy(context + used, ": ", 2);
    used += 2;
    size_t room = sizeof err->text - 1;
    size_t kept = strlen(err->text);
    if (kept > room - used)
        kept = room - used;
    memmove(err->text + used, err->text, kept);
    memcpy(err->text, context, used);
    err->text[used + kept] = '\0';
}

void error_clear(error *err)
{
    if (err) {
        err->code = OK;
        err->text[0] = '\0';
    }
}

void bug_at(const char *file, int line, const char *format, ...)
{
    console_end_bar();
    fprintf(stderr, "BUG %s:%d: ", file, line);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}
