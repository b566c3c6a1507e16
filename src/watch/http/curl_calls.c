#include "watch/http/curl_calls.h"

#include "common/base/alloc.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static status find_calls(void *library, curl_calls *ret, error *err)
{
    const struct {
        const char *name;
        void *place;
    } calls[] = {
#define CURL_CALL(name) {"curl_" #name, &ret->name},
        CURL_CALLS(CURL_CALL)
#undef CURL_CALL
    };
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        void *found = dlsym(library, calls[i].name);
        if (!found)
            return FAIL(err, E_CONFIG, "libcurl is too old: it lacks %s; 7.68 has it",
                        calls[i].name);
        memcpy(calls[i].place, &found, sizeof found);
    }
    return OK;
}

/* Debian has it twice, over OpenSSL and over GnuTLS; here one is as good as the other. */
status curl_open(const char *what, const curl_calls **ret, error *err)
{
    static curl_calls curl;
    static bool is_open;
    *ret = &curl;
    if (is_open)
        return OK;
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return FAIL(err, E_CONFIG, "%s is asked by libcurl, which is not here: %s; Debian has it in libcurl4", what,
                    dlerror());
    TRY(find_calls(library, &curl, err));
    CURLcode code = curl.global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK)
        return FAIL(err, E_CONFIG, "libcurl does not begin: %s", curl.easy_strerror(code));
    is_open = true;
    return OK;
}
