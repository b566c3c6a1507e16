#include "cli/cloud/metadata.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "watch/http/curl_calls.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    SECOND_US = 1000000,
    ANSWER_S = 5, /* for an answer that need not wait for a change, and from one try to the next */
    WAIT_S = 60,  /* the server answers with the old value after so long */
    ETAG_BYTES = 64,
};

/* --- one question --- */

typedef struct question {
    char *url; /* of the key */
    CURL *handle;
    bool is_asked;
    int64_t due_us;        /* when it is asked next, if it is not */
    char etag[ETAG_BYTES]; /* of the value known; "": none is */
    bool is_google;        /* what the answer says so far */
    char answer[METADATA_VALUE];
    size_t bytes;
    char why[CURL_ERROR_SIZE];
} question;

struct metadata {
    const curl_calls *curl;
    CURLM *multi;
    struct curl_slist *headers;
    atomic_bool is_woken;
    size_t n;
    question questions[METADATA_KEYS];
};

static size_t take_body(char *data, size_t size, size_t n, void *user)
{
    question *q = user;
    if (n >= sizeof q->answer - q->bytes)
        return 0; /* an error to libcurl */
    memcpy(q->answer + q->bytes, data, n);
    q->bytes += n;
    return size * n;
}

/* The value of a header of that name, its end cut off; false if the line is of another. */
static bool header_value(const char *line, size_t bytes, const char *name, char *ret, size_t room)
{
    size_t at = strlen(name);
    if (bytes <= at || strncasecmp(line, name, at) != 0 || line[at] != ':')
        return false;
    for (at++; at < bytes && isspace((unsigned char)line[at]);)
        at++;
    while (bytes > at && isspace((unsigned char)line[bytes - 1]))
        bytes--;
    snprintf(ret, room, "%.*s", (int)(bytes - at), line + at);
    return true;
}

static size_t take_header(char *line, size_t size, size_t n, void *user)
{
    question *q = user;
    char value[ETAG_BYTES];
    if (header_value(line, n, "Metadata-Flavor", value, sizeof value))
        q->is_google = strcmp(value, "Google") == 0;
    else if (header_value(line, n, "ETag", value, sizeof value))
        memcpy(q->etag, value, sizeof value);
    return size * n;
}

static void set_up(const curl_calls *curl, question *q, struct curl_slist *headers)
{
    q->handle = curl->easy_init();
    BUG_ON(!q->handle);
    curl->easy_setopt(q->handle, CURLOPT_HTTPHEADER, headers);
    curl->easy_setopt(q->handle, CURLOPT_PROXY, "");
    curl->easy_setopt(q->handle, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(q->handle, CURLOPT_CONNECTTIMEOUT, (long)ANSWER_S);
    curl->easy_setopt(q->handle, CURLOPT_ERRORBUFFER, q->why);
    curl->easy_setopt(q->handle, CURLOPT_WRITEFUNCTION, take_body);
    curl->easy_setopt(q->handle, CURLOPT_WRITEDATA, q);
    curl->easy_setopt(q->handle, CURLOPT_HEADERFUNCTION, take_header);
    curl->easy_setopt(q->handle, CURLOPT_HEADERDATA, q);
#if LIBCURL_VERSION_NUM >= 0x075700
    curl->easy_setopt(q->handle, CURLOPT_QUICK_EXIT,
                     1L); /* our end does not wait for the resolver */
#endif
}

static void metadata_ask(metadata *m, question *q)
{
    bool waits = q->etag[0];
    char *url = waits ? xasprintf("%s?wait_for_change=true&timeout_sec=%d&last_etag=%s", q->url,
                                  WAIT_S, q->etag)
                      : xstrdup(q->url);
    m->curl->easy_setopt(q->handle, CURLOPT_URL, url); /* copied */
    m->curl->easy_setopt(q->handle, CURLOPT_TIMEOUT, (long)(waits ? WAIT_S + ANSWER_S : ANSWER_S));
    free(url);
    q->is_asked = true;
    q->is_google = false;
    q->bytes = 0;
    q->etag[0] = q->why[0] = '\0';
    q->due_us = clock_us() + SECOND_US; /* a server that does not wait is asked once a second */
    m->curl->multi_add_handle(m->multi, q->handle);
}

static status metadata_judge(const curl_calls *curl, const question *q, CURLcode code, error *err)
{
    long http = 0;
    curl->easy_getinfo(q->handle, CURLINFO_RESPONSE_CODE, &http);
    if (code == CURLE_WRITE_ERROR)
        return FAIL(err, E_IO, "'%s': an answer of more than %d bytes", q->url, METADATA_VALUE - 1);
    if (code != CURLE_OK)
        return FAIL(err, E_IO, "'%s': %s", q->url, q->why[0] ? q->why : curl->easy_strerror(code));
    if (http != 200)
        return FAIL(err, E_IO, "'%s': answered by %ld", q->url, http);
    if (!q->is_google)
        return FAIL(err, E_IO,
                    "'%s': answered by no metadata server, for it does not say "
                    "Metadata-Flavor: Google",
                    q->url);
    return OK;
}

static status metadata_take(metadata *m, question *q, CURLcode code, char *ret_value, error *err)
{
    m->curl->multi_remove_handle(m->multi, q->handle);
    q->is_asked = false;
    status st = metadata_judge(m->curl, q, code, err);
    if (st != OK) {
        q->etag[0] = '\0';
        q->due_us = clock_us() + (int64_t)ANSWER_S * SECOND_US;
        return st;
    }
    while (q->bytes && isspace((unsigned char)q->answer[q->bytes - 1]))
        q->bytes--;
    for (size_t i = 0; i < q->bytes; i++)
        ret_value[i] = (char)(isprint((unsigned char)q->answer[i]) ? q->answer[i] : '?');
    ret_value[q->bytes] = '\0';
    return OK;
}

/* --- all of them --- */

static const char *host(void)
{
    const char *given = getenv("GCE_METADATA_HOST");
    return given && *given ? given : "metadata.google.internal";
}

status metadata_open(const char *const *keys, size_t n, metadata **ret, error *err)
{
    BUG_ON(n > METADATA_KEYS);
    const curl_calls *curl;
    TRY(curl_open("the metadata server", &curl, err));
    metadata *m = xcalloc(1, sizeof *m);
    m->curl = curl;
    m->multi = curl->multi_init();
    BUG_ON(!m->multi);
    m->headers = curl->slist_append(NULL, "Metadata-Flavor: Google");
    m->n = n;
    for (size_t i = 0; i < n; i++) {
        m->questions[i].url = xasprintf("http://%s/computeMetadata/v1/%s", host(), keys[i]);
        set_up(curl, &m->questions[i], m->headers);
    }
    *ret = m;
    return OK;
}

void metadata_close(metadata **m)
{
    if (!*m)
        return;
    for (size_t i = 0; i < (*m)->n; i++) {
        question *q = &(*m)->questions[i];
        if (q->is_asked)
            (*m)->curl->multi_remove_handle((*m)->multi, q->handle);
        (*m)->curl->easy_cleanup(q->handle);
        free(q->url);
    }
    (*m)->curl->multi_cleanup((*m)->multi);
    (*m)->curl->slist_free_all((*m)->headers);
    free(*m);
    *m = NULL;
}

/* Asks what is due; milliseconds until something else is. */
static int ask_due(metadata *m)
{
    int64_t now = clock_us(), next = now + (int64_t)WAIT_S * SECOND_US;
    for (size_t i = 0; i < m->n; i++) {
        question *q = &m->questions[i];
        if (!q->is_asked && q->due_us <= now)
            metadata_ask(m, q);
        if (!q->is_asked && q->due_us < next)
            next = q->due_us;
    }
    return (int)((next - now) / 1000) + 1;
}

status metadata_next(metadata *m, size_t *ret_key, char ret_value[METADATA_VALUE], error *err)
{
    while (!atomic_load(&m->is_woken)) {
        int pause_ms = ask_due(m), left;
        m->curl->multi_perform(m->multi, &left);
        const CURLMsg *ended = m->curl->multi_info_read(m->multi, &left);
        for (size_t i = 0; ended && i < m->n; i++)
            if (m->questions[i].handle == ended->easy_handle) {
                *ret_key = i;
                return metadata_take(m, &m->questions[i], ended->data.result, ret_value, err);
            }
        m->curl->multi_poll(m->multi, NULL, 0, pause_ms, NULL);
    }
    return FAIL(err, E_ABORTED, "woken");
}

void metadata_wake(metadata *m)
{
    atomic_store(&m->is_woken, true);
    m->curl->multi_wakeup(m->multi);
}
