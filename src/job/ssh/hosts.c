#include "job/ssh/hosts.h"

#include "common/base/fs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r";

/* --- reading --- */

static status parse_number(const char *text, int least, int *ret)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < least || value > HOSTS_MOST)
        return E_CONFIG;
    *ret = (int)value;
    return OK;
}

/* "gpu1:22", "[::1]:22"; an IPv6 address alone has more colons. */
static bool has_port(const char *text)
{
    const char *colon = strchr(text, ':');
    return strchr(text, ']') || (colon && !strchr(colon + 1, ':'));
}

static status check_name(const char *name, error *err)
{
    const char *at = strchr(name, '@');
    const char *bare = at ? at + 1 : name;
    if (name[0] == '-' || at == name || !*bare)
        return FAIL(err, E_CONFIG, "'%s' is no name of a host; it is HOST or USER@HOST", name);
    if (has_port(bare))
        return FAIL(err, E_CONFIG,
                    "'%s': ssh's port of a host belongs into ~/.ssh/config; slots are slots=N", name);
    return OK;
}

static status add_host(hosts *h, const char *name, arena *memory, host **ret, error *err)
{
    TRY(check_name(name, err));
    for (int i = 0; i < h->n; i++)
        if (strcmp(h->at[i].name, name) == 0)
            return FAIL(err, E_CONFIG, "%s stands here a second time; give it more slots", name);
    if (h->n == h->cap) {
        int cap = h->cap ? 2 * h->cap : 16;
        host *wider = arena_alloc(memory, (size_t)cap * sizeof *wider);
        if (h->n)
            memcpy(wider, h->at, (size_t)h->n * sizeof *wider);
        h->at = wider;
        h->cap = cap;
    }
    const char *at = strchr(name, '@');
    h->at[h->n] = (host){.name = arena_strdup(memory, name), .gpus = -1};
    h->at[h->n].address = h->at[h->n].name + (at ? at + 1 - name : 0);
    *ret = &h->at[h->n++];
    return OK;
}

static status hosts_read_word(host *h, const char *word, arena *memory, error *err)
{
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : 0;
    if (n == 5 && !memcmp(word, "slots", n) && parse_number(equals + 1, 1, &h->slots) == OK)
        return OK;
    if (n == 4 && !memcmp(word, "gpus", n) && parse_number(equals + 1, 0, &h->gpus) == OK)
        return OK;
    if (n == 7 && !memcmp(word, "address", n) && equals[1]) {
        if (has_port(equals + 1))
            return FAIL(err, E_CONFIG,
                        "%s: '%s': an address without a port; tasks have those from --start-port on",
                        h->name, word);
        h->address = arena_strdup(memory, equals + 1);
        return OK;
    }
    return FAIL(err, E_CONFIG,
                "%s: '%s' is none of slots=N (from 1), gpus=N (from 0) and address=ADDRESS", h->name,
                word);
}

static status read_line(hosts *h, char *line, arena *memory, error *err)
{
    line[strcspn(line, "#")] = '\0';
    char *rest = NULL, *word = strtok_r(line, blanks, &rest);
    host *one = NULL;
    if (!word)
        return OK;
    TRY(add_host(h, word, memory, &one, err));
    while ((word = strtok_r(NULL, blanks, &rest)))
        TRY(hosts_read_word(one, word, memory, err));
    return OK;
}

static status check_any(const hosts *h, const char *origin, error *err)
{
    if (h->n)
        return OK;
    return FAIL(err, E_CONFIG, "%s: there is no host in it", origin);
}

status hosts_read(const char *text, const char *origin, arena *memory, hosts *ret, error *err)
{
    hosts h = {.n = 0};
    char *rest = arena_strdup(memory, text);
    for (int line = 1; rest; line++) {
        char *now = strsep(&rest, "\n");
        TRYF(read_line(&h, now, memory, err), err, "%s:%d", origin, line);
    }
    TRY(check_any(&h, origin, err));
    *ret = h;
    return OK;
}

status hosts_read_file(const char *path, arena *memory, hosts *ret, error *err)
{
    buf text = BUF_INIT;
    status st = fs_read_config("hosts", path, 16 << 20, &text, err);
    if (st == OK)
        st = hosts_read(text.data ? text.data : "", path, memory, ret, err);
    buf_fini(&text);
    return st;
}

status hosts_of_list(const char *list, arena *memory, hosts *ret, error *err)
{
    hosts h = {.n = 0};
    char *rest = arena_strdup(memory, list);
    while (rest) {
        char *word = strsep(&rest, ","), *colon = strrchr(word, ':');
        host *one = NULL;
        int slots = 0;
        if (colon && parse_number(colon + 1, 1, &slots) != OK)
            return FAIL(err, E_CONFIG, "--hosts: '%s': slots are a number from 1, as in a:4", word);
        if (colon)
            *colon = '\0';
        TRYF(add_host(&h, word, memory, &one, err), err, "--hosts");
        one->slots = slots;
    }
    *ret = h;
    return OK;
}

/* --- dealing --- */

static bool computes(role r)
{
    return r == ROLE_MASTER || r == ROLE_WORKER;
}

static bool any_names_gpus(const hosts *h)
{
    for (int i = 0; i < h->n; i++)
        if (h->at[i].gpus >= 0)
            return true;
    return false;
}

static int gpus_free(const host *h)
{
    return h->gpus < 0 ? 0 : h->gpus - h->gpus_used;
}

static bool is_better(const host *a, const host *b, bool computing)
{
    int of_a = computing ? a->computing : a->n - a->computing;
    int of_b = computing ? b->computing : b->n - b->computing;
    return of_a != of_b ? of_a < of_b : a->n < b->n;
}

static status fail_room(const hosts *h, const job *j, task t, error *err)
{
    int64_t slots = 0, gpus = 0;
    for (int i = 0; i < h->n; i++) {
        slots += h->at[i].slots;
        gpus += h->at[i].gpus > 0 ? h->at[i].gpus : 0;
    }
    char name[TASK_NAME];
    return FAIL(err, E_CONFIG,
                "no host has room for %s: the job has %" PRId64 " tasks and %" PRId64
                " GPUs, the %d hosts name %" PRId64 " slots and %" PRId64
                " GPUs; add hosts or slots, or use --scale-down",
                task_name(t, name), job_tasks(j), job_gpus(j), h->n, slots, gpus);
}

void hosts_clear(hosts *h)
{
    for (int i = 0; i < h->n; i++)
        h->at[i].n = h->at[i].computing = h->at[i].gpus_used = 0;
}

status hosts_deal(hosts *h, const job *j, task t, hosts_place *ret, error *err)
{
    bool computing = computes(t.role), counted = any_names_gpus(h);
    int wants = counted ? (int)j->pools[t.role].gpus : 0, best = -1;
    for (int i = 0; i < h->n; i++) {
        const host *one = &h->at[i];
        bool has_room = (!one->slots || one->n < one->slots) && (!wants || gpus_free(one) >= wants);
        if (has_room && (best < 0 || is_better(one, &h->at[best], computing)))
            best = i;
    }
    if (best < 0)
        return fail_room(h, j, t, err);
    host *to = &h->at[best];
    *ret = (hosts_place){.host = best, .first_gpu = to->gpus_used, .gpus = counted ? wants : -1};
    to->n++;
    to->computing += computing;
    to->gpus_used += wants;
    return OK;
}
