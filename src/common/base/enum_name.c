#include "common/base/enum_name.h"

#include <ctype.h>
#include <string.h>

static char plain(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

static bool is_same(const char *a, const char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (plain(a[i]) != plain(b[i]))
            return false;
    return true;
}

bool enum_name_is(const char *text, const char *word)
{
    size_t bytes = strlen(word);
    return strlen(text) == bytes && is_same(text, word, bytes);
}

const char *enum_name_find(const char *list, char between, const char *text, size_t *ret_bytes)
{
    const char ends[] = {between, '\0'};
    size_t bytes = strlen(text);
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ends);
        if (n && n == bytes && is_same(at, text, n)) {
            *ret_bytes = n;
            return at;
        }
        at += n + (at[n] == between);
    }
    return NULL;
}
