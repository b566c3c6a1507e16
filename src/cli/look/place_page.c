/* A job looked at through its page: the documents that a browser asks for. */
#include "cli/look/page_token.h"
#include "cli/look/place_internal.h"
#include "common/base/alloc.h"
#include "common/base/json.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_S = 30 };

#define TOKEN "#token="

/* Nobody reads along on the loopback interface, where pages speak no TLS unless they are told to. */
static bool is_loopback(const char *at)
{
    return strncmp(at, "127.", 4) == 0 || strncmp(at, "localhost:", 10) == 0 || strncmp(at, "[::1]:", 6) == 0;
}

static char *base_of(const char *word, bool has_certificate)
{
    const char *scheme = strstr(word, "://") ? "" : has_certificate || !is_loopback(word) ? "https://" : "http://";
    size_t n = strcspn(word, "#");
    while (n && word[n - 1] == '/')
        n--;
    return xasprintf("%s%.*s/", scheme, (int)n, word);
}

status place_page_open(place *p, const args *a, const char *word, error *err)
{
    char derived[JOBKEY_TEXT] = "";
    const char *given = strstr(word, TOKEN), *file = args_text(a, "token-file");
    if (given && file)
        return FAIL(err, E_USAGE, "the address holds a token, and --token-file gives another");
    if (file)
        TRY(page_token_choose(file, NULL, 0, derived, err));
    const char *token = given ? given + strlen(TOKEN) : file ? derived : NULL;
    p->base = base_of(word, args_has(a, "certificate"));
    status st = http_client_open(
        &(http_client_options){.what = "a page", .bearer = token, .authorities = args_text(a, "certificate")},
        &p->client, err);
    jobkey_wipe(derived, sizeof derived);
    return st;
}

static status refused(const place *p, int code, const buf *answer, error *err)
{
    if (code == 401 || code == 303)
        return FAIL(err, E_CONFIG,
                    "the page at %s wants its token, and this is not it: give the address as it was printed, with "
                    "#token=..., or --token-file JOB_DIR/key",
                    p->base);
    if (code == 404)
        return FAIL(err, E_DATA, "%s is no page of `tequio page`", p->base);
    return FAIL(err, E_FAIL, "the page at %s answers %d: %.*s", p->base, code, (int)strcspn(answer->data, "\n"),
                answer->data);
}

static status ask_page(place *p, const char *path, json_t **ret, error *err)
{
    char *url = xasprintf("%s%s", p->base, path);
    buf answer = BUF_INIT;
    int code = 0;
    status st = http_client_ask(p->client, &(http_call){.method = "GET", .url = url, .limit_s = ANSWER_S}, &code,
                                &answer, err);
    if (st == OK && code != 200)
        st = refused(p, code, &answer, err);
    else if (st == OK)
        st = json_parse(answer.data, answer.size, url, E_DATA, ret, err);
    buf_fini(&answer);
    free(url);
    return st;
}

status place_page_look(place *p, json_t **ret_list, error *err)
{
    json_t *runs = NULL, *list = json_array();
    status st = ask_page(p, "api/runs", &runs, err);
    for (size_t i = 0; st == OK && i < json_array_size(runs); i++) {
        char *path = xasprintf("api/run/%zu/status", i);
        json_t *one = NULL;
        st = ask_page(p, path, &one, err);
        if (st == OK)
            json_array_append_new(list, one);
        free(path);
    }
    if (st == OK && json_array_size(list) == 0)
        st = FAIL(err, E_DATA, "%s is no page of jobs", p->base);
    json_decref(runs);
    if (st == OK)
        *ret_list = list;
    else
        json_decref(list);
    return st;
}
