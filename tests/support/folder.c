#include "support/folder.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdlib.h>

static char *folder;

char *folder_create(void)
{
    char *path = NULL;
    error err = ERROR_INIT;
    if (fs_make_temporary("test", &path, &err) != OK)
        BUG("%s", err.text);
    return path;
}

void folder_destroy(char **path)
{
    error err = ERROR_INIT;
    if (fs_remove_tree(*path, &err) != OK)
        BUG("%s", err.text);
    free(*path);
    *path = NULL;
}

int folder_set_up(void **state)
{
    (void)state;
    folder = folder_create();
    return 0;
}

int folder_tear_down(void **state)
{
    (void)state;
    folder_destroy(&folder);
    return 0;
}

const char *folder_path(void)
{
    return folder;
}

char *folder_file(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *name = xvasprintf(format, args), *path = xasprintf("%s/%s", folder, name);
    va_end(args);
    free(name);
    return path;
}
