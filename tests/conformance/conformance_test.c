/*
 * ONNX's own backend tests, of Debian's package libonnx-testdata: how many pass, fail, or are left
 * out by operator or by type, of each family. None may fail, and no fewer may pass than did. (The
 * family "real" has no models, only addresses of them.)
 *
 *   conformance_test            everything
 *   conformance_test WORD...    those whose name holds a word, each with its verdict
 *
 * With a folder in TEQUIO_ONNX_CASES its cases are run instead, wherever they lie in it.
 */
#include "case.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DATA "/usr/share/libonnx-testdata/data"

enum { SKIPPED = 77, LEAST_PASSES = 1015, MOST_OPS = 512 };

static const char *const families[] = {"node", "simple", "pytorch-converted", "pytorch-operator"};
static const char *const verdict_names[VERDICTS] = {
    [PASS] = "pass",       [PASS_KNOWN] = "pass, on import", [FAIL_WRONG] = "FAIL",
    [SKIP_OP] = "skip op", [SKIP_TYPE] = "skip type",      [SKIP_DATA] = "skip wrong data",
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

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* A run over the cases of a folder, and what came of them. */
typedef struct run {
    int argc; /* words */
    char **argv;
    bool tells_all;
    int counts[VERDICTS];
} run;

/* Cases of one version of ONNX whose outputs a later one has corrected: what an older package holds is
 * no model's fault. Where they come out right they count like others. */
static const struct {
    const char *name, *why;
} corrected[] = {
    {"test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
     "ONNX 1.17 divides by places beyond the padding too; 1.23 and ONNX Runtime do not"},
    {"test_cast_FLOAT_to_BFLOAT16", "ONNX 1.12 writes the bits of the numbers, as uint16"},
    {"test_qlinearmatmul_2D_int8", "ONNX 1.17 wraps; 1.23 takes the nearest there is, as the text says"},
    {"test_qlinearmatmul_3D_int8", "ONNX 1.17 wraps; 1.23 takes the nearest there is, as the text says"},
    {"test_cast_FLOAT_to_INT4", "ONNX 1.17 takes the nearest there is; 1.23 wraps"},
    {"test_cast_FLOAT_to_UINT4", "ONNX 1.17 takes the nearest there is; 1.23 wraps"},
    {"test_cast_FLOAT16_to_INT4", "ONNX 1.17 takes the nearest there is; 1.23 wraps"},
    {"test_cast_FLOAT16_to_UINT4", "ONNX 1.17 takes the nearest there is; 1.23 wraps"},
};

static void excuse_corrected(verdict *v, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(corrected) && v->kind == FAIL_WRONG; i++)
        if (strstr(name, corrected[i].name)) {
            v->kind = SKIP_DATA;
            snprintf(v->why, sizeof v->why, "%s", corrected[i].why);
        }
}

static void run_case(run *r, const char *folder, const char *name)
{
    if (!is_wanted(name, r->argc, r->argv))
        return;
    verdict v = case_run(folder);
    excuse_corrected(&v, name);
    r->counts[v.kind]++;
    if (v.kind == SKIP_OP)
        count_missing(v.op);
    if (r->tells_all || v.kind == FAIL_WRONG)
        printf("%-16s %s%s%s\n", verdict_names[v.kind], name, *v.why ? ": " : "", v.why);
}

/* The cases in a folder and its folders; `name` is its path without what all have in front. */
static void run_cases(run *r, const char *folder, const char *name)
{
    char **names = NULL, *model = xasprintf("%s/model.onnx", folder);
    size_t n = 0;
    error err = ERROR_INIT;
    bool is_case = fs_exists(model);
    free(model);
    if (is_case) {
        run_case(r, folder, name);
        return;
    }
    if (fs_list(folder, &names, &n, &err) != OK)
        fprintf(stderr, "%s\n", err.text);
    for (size_t i = 0; i < n; i++) {
        char *path = xasprintf("%s/%s", folder, names[i]);
        char *longer = xasprintf("%s%s%s", name, *name ? "/" : "", names[i]);
        if (is_folder(path))
            run_cases(r, path, longer);
        free(longer);
        free(path);
    }
    fs_list_free(names, n);
}

static void print_counts(const char *name, const int counts[VERDICTS])
{
    printf("%-18s", name);
    for (int k = 0; k < VERDICTS; k++)
        printf("  %4d %s", counts[k], verdict_names[k]);
    printf("\n");
}

static void add_counts(int sums[VERDICTS], const int counts[VERDICTS])
{
    for (int k = 0; k < VERDICTS; k++)
        sums[k] += counts[k];
}

static void print_missing(void)
{
    qsort(missing, n_missing, sizeof missing[0], by_count);
    printf("left out by operator:");
    for (size_t i = 0; i < n_missing; i++)
        printf("%s %s %d", i ? "," : "", missing[i].name, missing[i].n);
    printf("\n");
}

/* Of `total`: how many passed. */
static int print_sum(const int total[VERDICTS])
{
    int sum = 0, passes = total[PASS] + total[PASS_KNOWN];
    for (int k = 0; k < VERDICTS; k++)
        sum += total[k];
    print_counts("all", total);
    print_missing();
    printf("%d of %d pass, %d fail\n", passes, sum, total[FAIL_WRONG]);
    return passes;
}

static int run_packaged(int argc, char **argv)
{
    int total[VERDICTS] = {0};
    if (!fs_exists(DATA)) {
        printf("SKIPPED: the package libonnx-testdata is not installed\n");
        return SKIPPED;
    }
    for (size_t f = 0; f < COUNT_OF(families); f++) {
        run r = {.argc = argc, .argv = argv, .tells_all = argc > 1};
        char *folder = xasprintf("%s/%s", DATA, families[f]);
        run_cases(&r, folder, families[f]);
        print_counts(families[f], r.counts);
        add_counts(total, r.counts);
        free(folder);
    }
    int passes = print_sum(total);
    if (argc > 1)
        return 0;
    if (passes < LEAST_PASSES)
        printf("FAILED: fewer than the %d that passed before\n", LEAST_PASSES);
    return total[FAIL_WRONG] > 0 || passes < LEAST_PASSES;
}

static int run_folder(const char *folder, int argc, char **argv)
{
    run r = {.argc = argc, .argv = argv, .tells_all = true};
    run_cases(&r, folder, "");
    print_sum(r.counts);
    return r.counts[FAIL_WRONG] > 0;
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TEQUIO_ONNX_CASES");
    setvbuf(stdout, NULL, _IOLBF, 0);
    return folder ? run_folder(folder, argc, argv) : run_packaged(argc, argv);
}
