#include "job/kubernetes/claim.h"

#include <ctype.h>
#include <string.h>

bool kubernetes_is_name(const char *text)
{
    size_t n = strlen(text);
    return n && n < KUBERNETES_NAME && isalnum((unsigned char)text[0]) &&
           isalnum((unsigned char)text[n - 1]) &&
           !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")];
}

static status read_claim(char *entry, kubernetes_claim *ret, error *err)
{
    char *path = strchr(entry, ':');
    if (path)
        *path++ = '\0';
    if (!path || !kubernetes_is_name(entry) || *path != '/')
        return FAIL(err, E_USAGE,
                    "--claims: '%s%s%s' is no claim: it is the name of a PersistentVolumeClaim and "
                    "where the pods see it, as data:/data",
                    entry, path ? ":" : "", path ? path : "");
    *ret = (kubernetes_claim){.name = entry, .path = path};
    return OK;
}

status kubernetes_claims(const char *text, arena *memory, const kubernetes_claim **ret, error *err)
{
    char *rest = arena_strdup(memory, text ? text : "");
    kubernetes_claim *list = arena_alloc(memory, (strlen(rest) / 2 + 2) * sizeof *list);
    size_t n = 0;
    for (char *entry = strtok_r(rest, ",", &rest); entry; entry = strtok_r(NULL, ",", &rest))
        TRY(read_claim(entry, &list[n++], err));
    list[n] = (kubernetes_claim){.name = NULL};
    *ret = list;
    return OK;
}

static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        n--;
    return n == 1 || (strncmp(path, folder, n) == 0 && (path[n] == '/' || !path[n]));
}

bool kubernetes_is_claimed(const kubernetes_claim *claims, const char *path)
{
    for (const kubernetes_claim *c = claims; c->name; c++)
        if (is_below(path, c->path))
            return true;
    return false;
}
