/* What is in the folder checkpoints/, by the names in it. A step-N folder is a checkpoint exactly while
 * manifest.json is in it. */
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/checkpoint_internal.h"

#include <stdlib.h>
#include <string.h>

/* Reads "step-<9 or more digits>"; what follows is *ret_rest. */
bool checkpoint_parse_step(const char *name, int64_t *ret_step, const char **ret_rest)
{
    static const char head[] = "step-";
    if (strncmp(name, head, strlen(head)) != 0)
        return false;
    const char *digits = name + strlen(head);
    size_t n = strspn(digits, "0123456789");
    if (n < 9 || n > 18 || (n > 9 && digits[0] == '0'))
        return false;
    *ret_step = strtoll(digits, NULL, 10);
    *ret_rest = digits + n;
    return true;
}

char *checkpoint_path(const jobdir *d, int64_t step)
{
    return jobdir_file(d, "checkpoints/" CHECKPOINT_STEP, (long long)step);
}

bool checkpoint_is_there(const jobdir *d, int64_t step)
{
    char *path = jobdir_file(d, "checkpoints/" CHECKPOINT_STEP "/manifest.json", (long long)step);
    bool there = fs_exists(path);
    free(path);
    return there;
}

status checkpoint_list_folder(const jobdir *d, const char *folder, char ***ret, size_t *ret_n,
                              error *err)
{
    char *path = jobdir_file(d, "%s", folder);
    status st = OK;
    *ret = NULL;
    *ret_n = 0;
    if (fs_exists(path))
        st = fs_list(path, ret, ret_n, err);
    free(path);
    return st;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

status checkpoint_list(const jobdir *d, int64_t **ret_steps, size_t *ret_n, error *err)
{
    char **names = NULL;
    size_t n = 0, n_steps = 0;
    TRY(checkpoint_list_folder(d, "checkpoints", &names, &n, err));
    int64_t *steps = xcalloc(n + 1, sizeof *steps);
    for (size_t i = 0; i < n; i++) {
        int64_t step;
        const char *rest;
        if (checkpoint_parse_step(names[i], &step, &rest) && !*rest && checkpoint_is_there(d, step))
            steps[n_steps++] = step;
    }
    qsort(steps, n_steps, sizeof *steps, by_number);
    fs_list_free(names, n);
    *ret_steps = steps;
    *ret_n = n_steps;
    return OK;
}

bool checkpoint_is_aside(const char *rest)
{
    return strncmp(rest, CHECKPOINT_DAMAGED, strlen(CHECKPOINT_DAMAGED)) == 0 ||
           strncmp(rest, CHECKPOINT_UNDONE, strlen(CHECKPOINT_UNDONE)) == 0;
}
