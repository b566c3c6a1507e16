#include "common/base/host_memory.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20 };

/* --- files of numbers --- */

/* What root/path holds; NULL if it cannot be read. The caller frees it. */
static char *read_text(const char *root, const char *path)
{
    buf text = BUF_INIT;
    char *whole = xasprintf("%s%s", root, path);
    status st = fs_read(whole, TEXT_MAX, &text, NULL);
    free(whole);
    if (st == OK)
        return buf_detach(&text);
    buf_fini(&text);
    return NULL;
}

/* NULL behind the last one. */
static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : NULL;
}

/* The number behind `key` at the beginning of a line; 0 if there is none. */
static size_t number_of(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line && *line; line = next_line(line))
        if (strncmp(line, key, n) == 0)
            return (size_t)strtoull(line + n, NULL, 10);
    return 0;
}

static size_t kib_of(const char *root, const char *path, const char *key)
{
    char *text = read_text(root, path);
    size_t kib = number_of(text, key);
    free(text);
    return kib;
}

/* --- cgroups --- */

typedef struct dialect {
    const char *type, *option;   /* of the file system; in its options, NULL: any */
    const char *limit, *usage;
    const char *files[2];        /* keys of memory.stat: pages that give way */
} dialect;

static const dialect dialects[] = {
    {"cgroup2", NULL, "memory.max", "memory.current", {"inactive_file ", "active_file "}},
    {"cgroup", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     {"total_inactive_file ", "total_active_file "}},
};

static void keep_least(host_memory *m, size_t left, const char *what, const char *where)
{
    if (left >= m->left)
        return;
    m->left = left;
    snprintf(m->origin, sizeof m->origin, "%s%s%s", what, *where ? " of " : "", where);
}

/* What the cgroup of that folder leaves. */
static void ask_folder(const char *root, const dialect *d, const char *folder, host_memory *m)
{
    char *path[3] = {xasprintf("%s/%s", folder, d->limit), xasprintf("%s/%s", folder, d->usage),
                     xasprintf("%s/memory.stat", folder)};
    char *limit = read_text(root, path[0]), *usage = read_text(root, path[1]);
    char *stat = read_text(root, path[2]);
    if (limit && usage && limit[0] >= '0' && limit[0] <= '9') {
        size_t most = number_of(limit, ""), used = number_of(usage, "");
        size_t files = number_of(stat, d->files[0]) + number_of(stat, d->files[1]);
        used -= files < used ? files : used;
        keep_least(m, most > used ? most - used : 0, d->limit, folder);
    }
    free(stat);
    free(usage);
    free(limit);
    for (size_t i = 0; i < COUNT_OF(path); i++)
        free(path[i]);
}

/* From the cgroup up to the place where the hierarchy is mounted. */
static void ask_path(const char *root, const dialect *d, const char *mount, const char *group,
                     host_memory *m)
{
    char *folder = xasprintf("%s%s", mount, strcmp(group, "/") == 0 ? "" : group);
    size_t top = strlen(mount);
    for (char *end = folder + strlen(folder); end && end >= folder + top;
         end = strrchr(folder, '/')) {
        *end = '\0';
        ask_folder(root, d, folder, m);
    }
    free(folder);
}

/* The process' cgroup in that hierarchy, as /proc/self/cgroup has it: "4:cpu,memory:/a/b". */
static bool find_group(const char *groups, const dialect *d, char *ret, size_t bytes)
{
    for (const char *line = groups; line && *line; line = next_line(line)) {
        char names[256] = "", path[1024];
        bool is_unified = sscanf(line, "0::%1023[^\n]", path) == 1;
        bool is_old = sscanf(line, "%*d:%255[^:\n]:%1023[^\n]", names, path) == 2;
        if (!(d->option ? is_old && strstr(names, d->option) : is_unified))
            continue;
        snprintf(ret, bytes, "%s", path);
        return true;
    }
    return false;
}

/* A line of mountinfo: "35 31 0:32 /root /mount options - type source options". What is mounted may
 * be a part of the hierarchy, as in a container; the group is named from the whole one's top. */
static void ask_mount(const char *root, const char *line, const char *groups, host_memory *m)
{
    char top[1024], mount[1024], type[32], options[1024], group[1024];
    const char *behind = strstr(line, " - ");
    if (!behind || sscanf(line, "%*s %*s %*s %1023s %1023s", top, mount) != 2 ||
        sscanf(behind, " - %31s %*s %1023s", type, options) != 2)
        return;
    for (size_t i = 0; i < COUNT_OF(dialects); i++) {
        const dialect *d = &dialects[i];
        if (strcmp(type, d->type) != 0 || (d->option && !strstr(options, d->option)) ||
            !find_group(groups, d, group, sizeof group))
            continue;
        size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);
        bool is_below = strncmp(group, top, n) == 0 && (group[n] == '/' || group[n] == '\0');
        ask_path(root, d, mount, is_below && !strstr(group, "..") && group[n] ? group + n : "/", m);
    }
}

static void ask_groups(const char *root, host_memory *m)
{
    char *groups = read_text(root, "/proc/self/cgroup");
    char *mounts = read_text(root, "/proc/self/mountinfo"), *rest = mounts, *line;
    while (groups && rest && (line = strsep(&rest, "\n")))
        ask_mount(root, line, groups, m);
    free(mounts);
    free(groups);
}

/* --- all of it --- */

/* "8G", "512M", "1000000"; 1024 of one unit are the next. */
static bool read_bytes(const char *text, size_t *ret)
{
    static const char units[] = "KMGT";
    char *end;
    double n = strtod(text, &end), all = n;
    const char *unit = *end ? strchr(units, *end) : NULL;
    for (const char *u = units; unit && u <= unit; u++)
        all *= 1024.0;
    *ret = n > 0.0 && all < (double)SIZE_MAX ? (size_t)all : 0;
    return end != text && *ret > 0 && (!*end || (unit && !end[1]));
}

status host_memory_read(const char *root, const char *given, host_memory *ret, error *err)
{
    host_memory m = {.left = SIZE_MAX, .origin = "nobody says how much"};
    size_t may;
    if (given && strcmp(given, "unlimited") == 0) {
        *ret = m;
        return OK;
    }
    if (given) {
        if (!read_bytes(given, &may))
            return FAIL(err, E_CONFIG,
                        "TEQUIO_MEMORY: '%s' is no number of bytes, as 8G, nor the word unlimited",
                        given);
        size_t has = kib_of(root, "/proc/self/status", "RssAnon:") << 10;
        keep_least(&m, may > has ? may - has : 0, "TEQUIO_MEMORY", "");
        *ret = m;
        return OK;
    }
    size_t available = kib_of(root, "/proc/meminfo", "MemAvailable:");
    if (available)
        keep_least(&m, available << 10, "MemAvailable", "/proc/meminfo");
    ask_groups(root, &m);
    *ret = m;
    return OK;
}

status host_memory_left(host_memory *ret, error *err)
{
    const char *given = getenv("TEQUIO_MEMORY");
    return host_memory_read("", given && given[0] ? given : NULL, ret, err);
}
