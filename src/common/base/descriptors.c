#include "common/base/descriptors.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static _Atomic int64_t needed; /* about; 0: nobody said */

void descriptors_take(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int64_t limit_now(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT64_MAX
               ? INT64_MAX
               : (int64_t)limit.rlim_cur;
}

status descriptors_check(int64_t least, int64_t about, error *err)
{
    atomic_store(&needed, about);
    /* the explanation follows by itself */
    return limit_now() >= least ? OK : FAIL(err, E_IO, "%s", strerror(EMFILE));
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

void descriptors_explain(char *text, size_t bytes)
{
    size_t used = strlen(text);
    int64_t about = atomic_load(&needed);
    if (ends_with(text, strerror(ENFILE)))
        snprintf(text + used, bytes - used, "; the limit is the machine's: sysctl fs.file-max");
    if (!ends_with(text, strerror(EMFILE)))
        return;
    used += (size_t)snprintf(text + used, bytes - used, "; this process may have %lld",
                             (long long)limit_now());
    if (about && used < bytes)
        used += (size_t)snprintf(text + used, bytes - used, " and needs about %lld", (long long)about);
    if (used < bytes)
        snprintf(text + used, bytes - used,
                 ": raise its hard limit (`ulimit -n`, limits.conf, LimitNOFILE of a service)");
}
