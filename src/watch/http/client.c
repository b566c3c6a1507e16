#include "watch/http/client.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "watch/http/curl_calls.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CONNECT_S = 10, POLL_MS = 1000 };

struct http_client {
    const curl_calls *curl;
    CURLM *multi;
    CURL *handle;
    _Atomic int64_t end_us;
    int64_t seen_us;    /* end_us, as the last pause left it */
    char *bearer, *user, *password, *authorities;
    bool believes_all;
    buf *answer;
    FILE *file;         /* of the call at work */
    char why[CURL_ERROR_SIZE];
};

static char *copy(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

status http_client_open(const http_client_options *o, http_client **ret, error *err)
{
    const curl_calls *curl;
    TRY(curl_open(o->what, &curl, err));
    http_client *c = xcalloc(1, sizeof *c);
    *c = (http_client){.curl = curl,
                       .multi = curl->multi_init(),
                       .handle = curl->easy_init(),
                       .bearer = copy(o->bearer),
                       .user = copy(o->user),
                       .password = copy(o->password),
                       .authorities = copy(o->authorities),
                       .believes_all = o->believes_all,
                       .seen_us = INT64_MAX};
    BUG_ON(!c->multi || !c->handle);
    atomic_store(&c->end_us, INT64_MAX);
    *ret = c;
    return OK;
}

void http_client_close(http_client **c)
{
    if (!*c)
        return;
    (*c)->curl->easy_cleanup((*c)->handle);
    (*c)->curl->multi_cleanup((*c)->multi);
    free((*c)->bearer);
    free((*c)->user);
    free((*c)->password);
    free((*c)->authorities);
    free(*c);
    *c = NULL;
}

/* --- one call --- */

static size_t take_body(char *data, size_t size, size_t n, void *user)
{
    http_client *c = user;
    if (n > HTTP_CLIENT_ANSWER_MOST - c->answer->size)
        return 0; /* an error to libcurl */
    buf_add(c->answer, data, n);
    return size * n;
}

static size_t give_file(char *data, size_t size, size_t n, void *user)
{
    http_client *c = user;
    size_t got = fread(data, 1, size * n, c->file);
    return got || !ferror(c->file) ? got : CURL_READFUNC_ABORT;
}

static void set_credentials(http_client *c)
{
    const curl_calls *curl = c->curl;
    if (c->bearer) {
        curl->easy_setopt(c->handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        curl->easy_setopt(c->handle, CURLOPT_XOAUTH2_BEARER, c->bearer);
    } else if (c->user) {
        curl->easy_setopt(c->handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl->easy_setopt(c->handle, CURLOPT_USERNAME, c->user);
        curl->easy_setopt(c->handle, CURLOPT_PASSWORD, c->password ? c->password : "");
    }
    if (c->authorities)
        curl->easy_setopt(c->handle, CURLOPT_CAINFO, c->authorities);
    if (c->believes_all) {
        curl->easy_setopt(c->handle, CURLOPT_SSL_VERIFYPEER, 0L);
        curl->easy_setopt(c->handle, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static void set_body(http_client *c, const http_call *call, size_t file_bytes)
{
    const curl_calls *curl = c->curl;
    if (call->file) {
        curl->easy_setopt(c->handle, CURLOPT_UPLOAD, 1L);
        curl->easy_setopt(c->handle, CURLOPT_READFUNCTION, give_file);
        curl->easy_setopt(c->handle, CURLOPT_READDATA, c);
        curl->easy_setopt(c->handle, CURLOPT_INFILESIZE_LARGE, (curl_off_t)file_bytes);
        curl->easy_setopt(c->handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl->easy_setopt(c->handle, CURLOPT_LOW_SPEED_TIME, (long)call->limit_s);
        return;
    }
    if (call->body) {
        curl->easy_setopt(c->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->bytes);
        curl->easy_setopt(c->handle, CURLOPT_POSTFIELDS, call->body);
    }
    curl->easy_setopt(c->handle, CURLOPT_TIMEOUT, (long)call->limit_s);
}

/* The connection stays; all other settings are this call's. */
static struct curl_slist *prepare(http_client *c, const http_call *call, size_t file_bytes)
{
    const curl_calls *curl = c->curl;
    curl->easy_reset(c->handle);
    char *type = xasprintf("Content-Type: %s", call->type ? call->type : "application/json");
    struct curl_slist *headers = curl->slist_append(curl->slist_append(NULL, type), "Expect:");
    free(type);
    curl->easy_setopt(c->handle, CURLOPT_URL, call->url);
    curl->easy_setopt(c->handle, CURLOPT_HTTPHEADER, headers);
    curl->easy_setopt(c->handle, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(c->handle, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl->easy_setopt(c->handle, CURLOPT_ERRORBUFFER, c->why);
    curl->easy_setopt(c->handle, CURLOPT_WRITEFUNCTION, take_body);
    curl->easy_setopt(c->handle, CURLOPT_WRITEDATA, c);
#if LIBCURL_VERSION_NUM >= 0x075700
    curl->easy_setopt(c->handle, CURLOPT_QUICK_EXIT, 1L); /* our end does not wait for the resolver */
#endif
    set_credentials(c);
    set_body(c, call, file_bytes);
    curl->easy_setopt(c->handle, CURLOPT_CUSTOMREQUEST, call->method);
    return headers;
}

static int64_t left_us(http_client *c)
{
    int64_t left = atomic_load(&c->end_us) - clock_us();
    return left > 0 ? left : 0;
}

static int pause_ms(int64_t us)
{
    return us < POLL_MS * INT64_C(1000) ? (int)(us / 1000) + 1 : POLL_MS;
}

static status ask(http_client *c, const http_call *call, error *err)
{
    for (;;) {
        int n;
        c->curl->multi_perform(c->multi, &n);
        const CURLMsg *ended = c->curl->multi_info_read(c->multi, &n);
        if (ended && ended->data.result == CURLE_OK)
            return OK;
        if (ended)
            return FAIL(err, E_IO, "'%s': %s", call->url,
                        c->why[0] ? c->why : c->curl->easy_strerror(ended->data.result));
        if (!left_us(c))
            return FAIL(err, E_ABORTED, "'%s': no answer so far", call->url);
        c->curl->multi_poll(c->multi, NULL, 0, pause_ms(left_us(c)), NULL);
    }
}

static status open_file(http_client *c, const char *path, size_t *ret_bytes, error *err)
{
    struct stat info;
    c->file = fopen(path, "rbe");
    if (!c->file || fstat(fileno(c->file), &info) != 0)
        return fs_fail_input("open", path, err);
    *ret_bytes = (size_t)info.st_size;
    return OK;
}

status http_client_ask(http_client *c, const http_call *call, int *ret_code, buf *ret, error *err)
{
    size_t bytes = 0;
    long code = 0;
    status st = call->file ? open_file(c, call->file, &bytes, err) : OK;
    if (st == OK) {
        struct curl_slist *headers = prepare(c, call, bytes);
        buf_clear(ret);
        buf_add(ret, "", 0);
        c->answer = ret;
        c->why[0] = '\0';
        c->curl->multi_add_handle(c->multi, c->handle);
        st = ask(c, call, err);
        c->curl->easy_getinfo(c->handle, CURLINFO_RESPONSE_CODE, &code);
        c->curl->multi_remove_handle(c->multi, c->handle);
        c->curl->slist_free_all(headers);
    }
    if (c->file)
        fclose(c->file);
    c->file = NULL;
    if (st == OK)
        *ret_code = (int)code;
    return st;
}

/* --- waits --- */

bool http_client_pause(http_client *c, int64_t us)
{
    int64_t until = clock_us() + us;
    for (int64_t now; left_us(c) && atomic_load(&c->end_us) == c->seen_us && (now = clock_us()) < until;) {
        int64_t most = until - now < left_us(c) ? until - now : left_us(c);
        c->curl->multi_poll(c->multi, NULL, 0, pause_ms(most), NULL);
    }
    c->seen_us = atomic_load(&c->end_us);
    return left_us(c) > 0;
}

void http_client_end_by(http_client *c, int64_t when_us)
{
    atomic_store(&c->end_us, when_us);
    c->curl->multi_wakeup(c->multi);
}

void http_client_escape(const char *text, buf *ret)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        buf_addf(ret, isalnum(*at) || strchr("-_.~", *at) ? "%c" : "%%%02X", *at);
}
