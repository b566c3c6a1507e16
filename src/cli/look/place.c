#include "cli/look/place.h"

#include "cli/look/job_view.h"
#include "cli/look/place_internal.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HOST:PORT, and nothing of that name lies here. */
static bool is_address(const char *word)
{
    const char *colon = strrchr(word, ':');
    return colon && colon > word && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
           !strchr(word, '/') && !fs_exists(word);
}

static bool begins(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

static place_kind kind_of(const char *word)
{
    if (begins(word, "ssh://"))
        return PLACE_SSH;
    if (begins(word, "kubernetes://"))
        return PLACE_KUBERNETES;
    if (begins(word, "http://") || begins(word, "https://") || is_address(word))
        return PLACE_PAGE;
    return PLACE_DIR;
}

/* A flag that does nothing is a mistake. */
static status check_flags(const args *a, place_kind kind, const char *word, error *err)
{
    static const struct {
        const char *flag;
        place_kind kind;
        const char *where;
    } flags[] = {
        {"ssh", PLACE_SSH, "ssh://HOST/DIR"},
        {"namespace", PLACE_KUBERNETES, "kubernetes://NAME"},
        {"token-file", PLACE_PAGE, "a page's address"},
        {"certificate", PLACE_PAGE, "a page's address"},
    };
    for (size_t i = 0; a->n_operands <= 1 && i < COUNT_OF(flags); i++)
        if (args_has(a, flags[i].flag) && flags[i].kind != kind)
            return FAIL(err, E_USAGE, "--%s is for %s; this is '%s'", flags[i].flag, flags[i].where, word);
    return OK;
}

status place_open(const args *a, const char *word, place **ret, error *err)
{
    place *p = xcalloc(1, sizeof *p);
    *p = (place){.kind = kind_of(word), .word = xstrndup(word, strcspn(word, "#"))};
    status st = check_flags(a, p->kind, p->word, err);
    if (st == OK && p->kind == PLACE_PAGE)
        st = place_page_open(p, a, word, err);
    else if (st == OK && p->kind == PLACE_SSH)
        st = place_ssh_open(p, a, err);
    else if (st == OK && p->kind == PLACE_KUBERNETES)
        st = place_kubernetes_open(p, a, err);
    else if (st == OK)
        p->dir = xstrdup(word);
    if (st == OK)
        *ret = p;
    else
        place_close(&p);
    return st;
}

void place_close(place **p)
{
    if (!*p)
        return;
    http_client_close(&(*p)->client);
    free((*p)->word);
    free((*p)->dir);
    free((*p)->base);
    free((*p)->host);
    free((*p)->port);
    free((*p)->name);
    free(*p);
    *p = NULL;
}

const char *place_dir(const place *p)
{
    return p->kind == PLACE_DIR ? p->dir : NULL;
}

const char *place_word(const place *p)
{
    return p->word;
}

void place_print_json(const json_t *list)
{
    buf text = BUF_INIT;
    json_pretty(json_array_size(list) == 1 ? json_array_get(list, 0) : list, &text);
    fputs(text.data, stdout);
    buf_fini(&text);
}

bool place_is_ssh(const place *p)
{
    return p->kind == PLACE_SSH;
}

bool place_is_kubernetes(const place *p, place_pods *ret)
{
    if (p->kind == PLACE_KUBERNETES)
        *ret = (place_pods){.name = p->name, .namespace = p->namespace};
    return p->kind == PLACE_KUBERNETES;
}

static status look_here(const place *p, json_t **ret_list, error *err)
{
    job_view v;
    TRY(job_view_open(p->dir, &v, err));
    json_t *one = job_view_json(&v);
    job_view_close(&v);
    if (!one)
        return FAIL(err, E_DATA, "'%s': it is not UTF-8", p->dir);
    *ret_list = json_pack("[o]", one);
    return OK;
}

status place_look(place *p, json_t **ret_list, error *err)
{
    switch (p->kind) {
    case PLACE_PAGE:
        return place_page_look(p, ret_list, err);
    case PLACE_SSH:
    case PLACE_KUBERNETES:
        return place_remote_look(p, ret_list, err);
    case PLACE_DIR:
        break;
    }
    return look_here(p, ret_list, err);
}
