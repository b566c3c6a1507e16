#include "common/base/descriptors.h"

#include "common/base/descriptor_limit.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

void descriptors_take(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

status descriptors_check(int64_t least, int64_t about, error *err)
{
    descriptor_limit_needed(about);
    /* the explanation follows by itself */
    return descriptor_limit() >= least ? OK : FAIL(err, E_IO, "%s", strerror(EMFILE));
}
