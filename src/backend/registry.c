#include "backend/registry.h"

#include "backend/cuda/cuda.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

backend_choice backend_numbered(int64_t number, int threads)
{
    bool is_cpu = number < 0;
    return (backend_choice){
        .ops = is_cpu ? &backend_cpu : &backend_cuda,
        .options = {.threads = threads,
                    .device = is_cpu             ? 0
                              : number < INT_MAX ? (int)number
                                                 : INT_MAX},
    };
}

/* Whether `text` is nothing, or a colon and a number. */
static bool read_number(const char *text, int64_t *ret)
{
    *ret = 0;
    if (!*text)
        return true;
    if (text[0] != ':' || !isdigit((unsigned char)text[1]))
        return false;
    char *end = NULL;
    *ret = strtoll(text + 1, &end, 10);
    return !*end;
}

static bool read_name(const char *name, int64_t *ret)
{
    static const struct {
        const char *text;
        bool is_cpu;
    } kinds[] = {{"cpu", true}, {"cuda", false}, {"gpu", false}};
    const char *device = strcasestr(name, "/device:");
    name = device ? device + strlen("/device:") : name + (name[0] == '/');
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i].text);
        int64_t number;
        if (strncasecmp(name, kinds[i].text, n) != 0 || !read_number(name + n, &number))
            continue;
        *ret = kinds[i].is_cpu ? -1 : number;
        return !kinds[i].is_cpu || number == 0;
    }
    char *end = NULL;
    *ret = strtoll(name, &end, 10);
    return end != name && !*end && !device;
}

status backend_named(const char *name, int threads, backend_choice *ret, error *err)
{
    int64_t number;
    if (!read_name(name, &number))
        return FAIL(err, E_CONFIG,
                    "'%s' is no device; expected 'cpu', or a GPU as '0', 'cuda:0', '/gpu:0' or "
                    "'/device:GPU:0'",
                    name);
    *ret = backend_numbered(number, threads);
    return OK;
}

const char *backend_name(const backend_choice *c, char ret[BACKEND_NAME])
{
    if (c->ops == &backend_cuda)
        snprintf(ret, BACKEND_NAME, "cuda:%d", c->options.device);
    else
        snprintf(ret, BACKEND_NAME, "%s", c->ops->name);
    return ret;
}
