#include "common/base/user_cache.h"

#include "common/base/alloc.h"

#include <stdlib.h>

char *user_cache_folder(const char *what)
{
    const char *own = getenv("TEQUIO_CACHE"), *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && *own)
        return xstrdup(own);
    if (caches && *caches)
        return xasprintf("%s/tequio/%s", caches, what);
    return home && *home ? xasprintf("%s/.cache/tequio/%s", home, what) : NULL;
}
