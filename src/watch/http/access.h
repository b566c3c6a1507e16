/*
 * Who may read what a server tells.
 *
 * Without a token: whoever reaches the loopback interface, and calls it by its names (Host), which pages of other
 * sites, whose names an attacker can make point there, do not. With one: whoever shows it, as "Authorization: Bearer
 * TOKEN" or in the cookie that a login sets. Tokens are compared in constant time.
 *
 * Pure functions.
 */
#ifndef TEQUIO_WATCH_HTTP_ACCESS_H
#define TEQUIO_WATCH_HTTP_ACCESS_H

#include "common/base/jobkey.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct access_rule {
    bool needs_token;
    char token[JOBKEY_TEXT];
    char cookie[32];        /* its name: servers of one host, which share cookies, have one each */
} access_rule;

typedef enum access_verdict {
    ACCESS_GRANTED,
    ACCESS_MISCALLED,       /* by a name that is not the loopback interface's */
    ACCESS_UNKNOWN,         /* no token was shown */
    ACCESS_WRONG,           /* another one was */
} access_verdict;

/* Headers; NULL: there is none. */
access_verdict access_judge(const access_rule *a, const char *host, const char *authorization, const char *cookies);

/* Of a form, "token=...": whether it is the token. */
bool access_login(const access_rule *a, const char *form, size_t bytes);

#endif
