#include "common/base/descriptor_limit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static _Atomic int64_t needed; /* about; 0: nobody said */

void descriptor_limit_needed(int64_t about)
{
    atomic_store(&needed, about);
}

int64_t descriptor_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT64_MAX
               ? INT64_MAX
               : (int64_t)limit.rlim_cur;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

void descriptor_limit_explain(char *text, size_t bytes)
{
    size_t used = strlen(text);
    int64_t about = atomic_load(&needed);
    if (ends_with(text, strerror(ENFILE)))
        snprintf(text + used, bytes - used, "; the limit is the machine's: sysctl fs.file-max");
    if (!ends_with(text, strerror(EMFILE)))
        return;
    used += (size_t)snprintf(text + used, bytes - used, "; this process may have %lld",
                             (long long)descriptor_limit());
    if (about && used < bytes)
        used += (size_t)snprintf(text + used, bytes - used, " and needs about %lld", (long long)about);
    if (used < bytes)
        snprintf(text + used, bytes - used,
                 ": raise its hard limit (`ulimit -n`, limits.conf, LimitNOFILE of a service)");
}
