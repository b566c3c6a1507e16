#include "unit/data/support_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "support/folder.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int cache_fresh(void **state)
{
    char *cache = folder_file("cache");
    error err = ERROR_INIT;
    assert_int_equal(fs_remove_tree(cache, &err), OK);
    setenv("TEQUIO_CACHE", cache, 1);
    *state = cache;
    return 0;
}

int cache_drop(void **state)
{
    free(*state);
    return 0;
}

char *cache_kept_file(const char *cache, const char *ending)
{
    char **names = NULL, *path = NULL;
    size_t n = 0;
    error err = ERROR_INIT;
    assert_int_equal(fs_list(cache, &names, &n, &err), OK);
    for (size_t i = 0; i < n; i++)
        if (strlen(names[i]) > strlen(ending) &&
            strcmp(names[i] + strlen(names[i]) - strlen(ending), ending) == 0 && !path)
            path = xasprintf("%s/%s", cache, names[i]);
    fs_list_free(names, n);
    assert_non_null(path);
    return path;
}

void cache_damage(const char *path, long at, bool from_end)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, at, from_end ? SEEK_END : SEEK_SET);
    int c = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(c ^ 1, f);
    fclose(f);
}

int cache_makers(int processes, bool (*makes)(void *user), void *user)
{
    int made = 0, gate[2];
    pid_t *child = xcalloc((size_t)processes, sizeof *child);
    assert_int_equal(pipe(gate), 0);
    for (int i = 0; i < processes; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            char go;
            close(gate[1]);
            if (read(gate[0], &go, 1) != 0)
                _exit(9);
            _exit(makes(user));
        }
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < processes; i++) {
        int code = 0;
        assert_int_equal(waitpid(child[i], &code, 0), child[i]);
        assert_true(WIFEXITED(code) && WEXITSTATUS(code) <= 1);
        made += WEXITSTATUS(code);
    }
    free(child);
    return made;
}

size_t cache_heap_bytes(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}
