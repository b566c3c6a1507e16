#include "watch/http/access.h"

#include "common/base/alloc.h"

#include <string.h>
#include <strings.h>

static const char spaces[] = " \t\r\n";

/* By a name of the loopback interface, with whatever port: it may be forwarded. */
static bool is_called_right(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; host && i < COUNT_OF(names); i++) {
        size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) == 0 && (!host[n] || host[n] == ':'))
            return true;
    }
    return false;
}

static bool is_token(const access_rule *a, const char *text, size_t bytes)
{
    return bytes == JOBKEY_TEXT - 1 && jobkey_equal_bytes(text, a->token, JOBKEY_TEXT - 1);
}

/* What stands behind "NAME=", of several with ';' between; NULL: there is none of that name. */
static const char *find_cookie(const char *cookies, const char *name, size_t *ret_bytes)
{
    size_t n = strlen(name);
    while (cookies && *cookies) {
        cookies += strspn(cookies, "; \t");
        size_t bytes = strcspn(cookies, ";");
        if (bytes > n && strncmp(cookies, name, n) == 0 && cookies[n] == '=') {
            *ret_bytes = bytes - n - 1;
            return cookies + n + 1;
        }
        cookies += bytes;
    }
    return NULL;
}

static const char *find_bearer(const char *authorization, size_t *ret_bytes)
{
    static const char scheme[] = "Bearer ";
    if (!authorization || strncasecmp(authorization, scheme, strlen(scheme)) != 0)
        return NULL;
    const char *text = authorization + strlen(scheme);
    text += strspn(text, spaces);
    *ret_bytes = strcspn(text, spaces);
    return text;
}

access_verdict access_judge(const access_rule *a, const char *host, const char *authorization, const char *cookies)
{
    size_t bytes = 0;
    if (!a->needs_token)
        return is_called_right(host) ? ACCESS_GRANTED : ACCESS_MISCALLED;
    const char *shown = find_bearer(authorization, &bytes);
    if (!shown)
        shown = find_cookie(cookies, a->cookie, &bytes);
    if (!shown)
        return ACCESS_UNKNOWN;
    return is_token(a, shown, bytes) ? ACCESS_GRANTED : ACCESS_WRONG;
}

bool access_login(const access_rule *a, const char *form, size_t bytes)
{
    static const char key[] = "token=";
    size_t n = strlen(key);
    if (!a->needs_token || bytes < n || memcmp(form, key, n) != 0)
        return false;
    while (bytes > n && strchr(spaces, form[bytes - 1]))
        bytes--;
    return is_token(a, form + n, bytes - n);
}
