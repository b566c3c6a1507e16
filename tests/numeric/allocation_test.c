/*
 * After the first run the step loop allocates nothing. The test replaces the allocator's entry
 * points of the whole process by ones that count while a flag is up, on every thread.
 *
 * A call made from inside libdnnl, or from libstdc++ and libgomp, which only libdnnl and OpenMP
 * call here, is not ours: oneDNN builds its argument list on the heap at every execution and its C
 * interface offers no other way. Such a call is told apart by the shared object its return address
 * lies in. Everything else counts, the C library's own allocations among it.
 *
 * Sanitizers bring an allocator of their own; under them the test is skipped.
 */
#include "numeric/support_lane.h"
#include "numeric/support_models.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef TEQUIO_SANITIZED

static atomic_bool counting;
static atomic_int n_ours, n_foreign;
static _Atomic(void *) first_caller;

static bool is_foreign(const void *caller)
{
    static const char *const libraries[] = {"libdnnl.", "libstdc++.", "libgomp."};
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    const char *file = slash ? slash + 1 : info.dli_fname;
    for (size_t i = 0; i < COUNT_OF(libraries); i++)
        if (strncmp(file, libraries[i], strlen(libraries[i])) == 0)
            return true;
    return false;
}

static void note(void *caller)
{
    if (!atomic_load(&counting))
        return;
    if (is_foreign(caller)) {
        atomic_fetch_add(&n_foreign, 1);
        return;
    }
    if (atomic_fetch_add(&n_ours, 1) == 0)
        atomic_store(&first_caller, caller);
}

#define CALLER __builtin_return_address(0)

/* The C library's own names for what is replaced below. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

void *malloc(size_t bytes)
{
    note(CALLER);
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    note(CALLER);
    return __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    note(CALLER);
    return __libc_realloc(p, bytes);
}

void *memalign(size_t align, size_t bytes)
{
    note(CALLER);
    return __libc_memalign(align, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    note(CALLER);
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **ret, size_t align, size_t bytes)
{
    note(CALLER);
    void *p = __libc_memalign(align, bytes);
    if (!p)
        return ENOMEM;
    *ret = p;
    return 0;
}

static status on_need(void *user, int32_t part, int64_t *ret_edition, error *err)
{
    (void)user, (void)part, (void)ret_edition, (void)err;
    return OK;
}

static status on_ready(void *user, int32_t part, const float *grad, error *err)
{
    (void)user, (void)part, (void)grad, (void)err;
    return OK;
}

static void count_runs(lane *l)
{
    const exec_hooks hooks = {.need = on_need, .ready = on_ready};
    atomic_store(&n_ours, 0);
    atomic_store(&n_foreign, 0);
    for (int run = 0; run < 6; run++) {
        size_t variant = run % 2;
        model_fill_batch(l->graphs[variant], (uint64_t)run, 1, l, variant, NULL);
        atomic_store(&counting, run >= 2); /* both variants have run once */
        lane_run(l, variant, &hooks);
        atomic_store(&counting, false);
    }
}

static void check_model(const model_size *size, int threads)
{
    graph *full = model_build(size, 4, true), *last = model_build(size, 3, true);
    const graph *graphs[] = {full, last};
    lane l;
    lane_init(&l, graphs, 2, threads);
    model_fill_params(full, &l, NULL);
    count_runs(&l);
    print_message("4 runs: %d allocations by oneDNN\n", atomic_load(&n_foreign));
    Dl_info info = {0};
    if (atomic_load(&n_ours) > 0 && dladdr(atomic_load(&first_caller), &info))
        print_error("the first was called from %s in %s (%p)\n",
                    info.dli_sname ? info.dli_sname : "?", info.dli_fname,
                    atomic_load(&first_caller));
    assert_int_equal(atomic_load(&n_ours), 0);
    lane_fini(&l);
    graph_destroy(&full);
    graph_destroy(&last);
}

static void test_the_counter_counts(void **state)
{
    (void)state;
    atomic_store(&n_ours, 0);
    atomic_store(&counting, true);
    void *volatile p = xmalloc(10);
    char *volatile s = xstrdup("ten");
    atomic_store(&counting, false);
    free(p);
    free(s);
    assert_true(atomic_load(&n_ours) >= 2);
}

static void test_runs_allocate_nothing(void **state)
{
    (void)state;
    check_model(&large_cnn, 1);
    check_model(&large_mlp, 1);
}

static void test_runs_of_a_team_allocate_nothing(void **state)
{
    (void)state;
    check_model(&large_cnn, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_counter_counts),
        cmocka_unit_test(test_runs_allocate_nothing),
        cmocka_unit_test(test_runs_of_a_team_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

enum { SKIPPED = 77 }; /* what CTest takes for "skipped" */

int main(void)
{
    print_message("skipped: a sanitizer replaces the allocator\n");
    return SKIPPED;
}

#endif
