/*
 * ONNX's own backend tests, of Debian's package libonnx-testdata: how many pass, fail, or are left
 * out by operator or by type, of each family. None may fail, and no fewer may pass than did. (The
 * family "real" has no models, only addresses of them.)
 *
 *   conformance_test            everything
 *   conformance_test WORD...    those whose name holds a word, each with its verdict
 */
#include "case.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA "/usr/share/libonnx-testdata/data"

enum { SKIPPED = 77, LEAST_PASSES = 897, MOST_OPS = 512 };

static const char *const families[] = {"node", "simple", "pytorch-converted", "pytorch-operator"};
static const char *const verdict_names[VERDICTS] = {
    [PASS] = "pass",       [PASS_KNOWN] = "pass, on import", [FAIL_WRONG] = "FAIL",
    [SKIP_OP] = "skip op", [SKIP_TYPE] = "skip type",
};

/* Operators that tests were left out for, and for how many. */
static struct {
    char name[64];
    int n;
} missing[MOST_OPS];
static size_t n_missing;

static void count_missing(const char *op)
{
    size_t i = 0;
    while (i < n_missing && strcmp(missing[i].name, op) != 0)
        i++;
    if (i == n_missing && n_missing < MOST_OPS)
        snprintf(missing[n_missing++].name, sizeof missing[i].name, "%s", op);
    if (i < n_missing)
        missing[i].n++;
}

static int by_count(const void *a, const void *b)
{
    return ((const __typeof__(missing[0]) *)b)->n - ((const __typeof__(missing[0]) *)a)->n;
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strstr(name, argv[i]))
            return true;
    return argc < 2;
}

static void run_family(const char *family, int argc, char **argv, int counts[VERDICTS])
{
    char *folder = xasprintf("%s/%s", DATA, family), **names = NULL;
    size_t n = 0;
    error err = ERROR_INIT;
    if (fs_list(folder, &names, &n, &err) != OK)
        fprintf(stderr, "%s\n", err.text);
    for (size_t i = 0; i < n; i++) {
        if (!is_wanted(names[i], argc, argv))
            continue;
        char *path = xasprintf("%s/%s", folder, names[i]);
        verdict v = case_run(path);
        counts[v.kind]++;
        if (v.kind == SKIP_OP)
            count_missing(v.op);
        if (argc > 1 || v.kind == FAIL_WRONG)
            printf("%-16s %s/%s%s%s\n", verdict_names[v.kind], family, names[i], *v.why ? ": " : "",
                   v.why);
        free(path);
    }
    fs_list_free(names, n);
    free(folder);
}

static void print_counts(const char *name, const int counts[VERDICTS])
{
    printf("%-18s", name);
    for (int k = 0; k < VERDICTS; k++)
        printf("  %4d %s", counts[k], verdict_names[k]);
    printf("\n");
}

int main(int argc, char **argv)
{
    if (!fs_exists(DATA)) {
        printf("SKIPPED: the package libonnx-testdata is not installed\n");
        return SKIPPED;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    int total[VERDICTS] = {0}, sum = 0;
    for (size_t f = 0; f < COUNT_OF(families); f++) {
        int counts[VERDICTS] = {0};
        run_family(families[f], argc, argv, counts);
        print_counts(families[f], counts);
        for (int k = 0; k < VERDICTS; k++) {
            total[k] += counts[k];
            sum += counts[k];
        }
    }
    print_counts("all", total);
    qsort(missing, n_missing, sizeof missing[0], by_count);
    printf("left out by operator:");
    for (size_t i = 0; i < n_missing; i++)
        printf("%s %s %d", i ? "," : "", missing[i].name, missing[i].n);
    int passes = total[PASS] + total[PASS_KNOWN];
    printf("\n%d of %d pass, %d fail\n", passes, sum, total[FAIL_WRONG]);
    if (argc > 1)
        return 0;
    if (passes < LEAST_PASSES)
        printf("FAILED: fewer than the %d that passed before\n", LEAST_PASSES);
    return total[FAIL_WRONG] > 0 || passes < LEAST_PASSES;
}
