#include "unit/common/support_folder.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdio.h>
#include <stdlib.h>

static char folder[256];

int folder_make(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tequio-test-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

int folder_remove(void **state)
{
    (void)state;
    return fs_remove_tree(folder, NULL) == OK ? 0 : -1;
}

const char *folder_path(void)
{
    return folder;
}

char *folder_file(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *name = NULL;
    int n = vasprintf(&name, format, args);
    va_end(args);
    if (n < 0)
        abort();
    char *path = xasprintf("%s/%s", folder, name);
    free(name);
    return path;
}
