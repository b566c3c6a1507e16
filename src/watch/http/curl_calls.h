/*
 * libcurl's calls. The library is opened when somebody first asks for it (docs/decisions/019), and stays open.
 *
 * Threads: curl_open by one at a time, before its calls are used by others; then as libcurl says: a handle belongs to
 * one thread, and multi_wakeup is any thread's.
 */
#ifndef TEQUIO_WATCH_HTTP_CURL_CALLS_H
#define TEQUIO_WATCH_HTTP_CURL_CALLS_H

#include "common/base/error.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#define CURL_CALLS(X)                                                                                                  \
    X(global_init) X(slist_append) X(slist_free_all) X(easy_init) X(easy_setopt) X(easy_getinfo) X(easy_strerror)      \
    X(easy_reset) X(easy_cleanup) X(multi_init) X(multi_add_handle) X(multi_remove_handle) X(multi_perform)            \
    X(multi_info_read) X(multi_poll) X(multi_wakeup) X(multi_cleanup)

typedef struct curl_calls {
#define CURL_CALL(name) __typeof__(&curl_##name) name;
    CURL_CALLS(CURL_CALL)
#undef CURL_CALL
} curl_calls;

/* `what` is asked by it, in messages: "the metadata server". E_CONFIG: it is not here, or too old; *ret is then of no
 * use. */
MUST_USE status curl_open(const char *what, const curl_calls **ret, error *err);

#endif
