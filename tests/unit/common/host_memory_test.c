/* What the kernel's files say about memory that is left, and what TEQUIO_MEMORY says instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/host_memory.h"
#include "support/folder.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

/* root/path holds `text`. */
static void put(const char *root, const char *path, const char *text)
{
    error err = ERROR_INIT;
    char *whole = xasprintf("%s%s", root, path), *folder = xstrdup(whole);
    if (fs_mkdirs(dirname(folder), &err) != OK ||
        fs_write_atomic(whole, text, strlen(text), &err) != OK)
        fail_msg("%s", err.text);
    free(folder);
    free(whole);
}

static char *machine(const char *name, const char *groups, const char *mounts)
{
    char *root = folder_file("%s", name);
    put(root, "/proc/meminfo", "MemTotal: 99 kB\nMemFree: 1 kB\nMemAvailable:    8192 kB\n");
    put(root, "/proc/self/status", "Name:\tx\nRssAnon:\t    1024 kB\n");
    put(root, "/proc/self/cgroup", groups);
    put(root, "/proc/self/mountinfo", mounts);
    return root;
}

static void expect(const char *root, const char *given, size_t left, const char *origin)
{
    host_memory m;
    error err = ERROR_INIT;
    if (host_memory_read(root, given, &m, &err) != OK)
        fail_msg("%s", err.text);
    assert_int_equal(m.left, left);
    assert_string_equal(m.origin, origin);
}

static void test_a_machine_without_limits(void **state)
{
    (void)state;
    char *root = machine("plain", "0::/user.slice\n", "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 c rw\n");
    expect(root, NULL, 8 * MIB, "MemAvailable of /proc/meminfo");
    put(root, "/sys/fs/cgroup/user.slice/memory.max", "max\n");
    put(root, "/sys/fs/cgroup/user.slice/memory.current", "999999999\n");
    expect(root, NULL, 8 * MIB, "MemAvailable of /proc/meminfo");
    free(root);
}

/* The least of all groups above counts, and of its pages those of files do not. */
static void test_version_2(void **state)
{
    (void)state;
    char *root = machine("two", "1:name=x:/y\n0::/a/b\n", "35 24 0:30 / /cg rw - cgroup2 c rw\n");
    put(root, "/cg/a/b/memory.max", "7340032\n");
    put(root, "/cg/a/b/memory.current", "1048576\n");
    expect(root, NULL, 6 * MIB, "memory.max of /cg/a/b");
    put(root, "/cg/a/memory.max", "6291456\n");
    put(root, "/cg/a/memory.current", "5242880\n");
    put(root, "/cg/a/memory.stat", "anon 7\ninactive_file 1048576\nactive_file 2097152\n");
    expect(root, NULL, 4 * MIB, "memory.max of /cg/a");
    put(root, "/cg/a/memory.current", "99999999\n");
    expect(root, NULL, 0, "memory.max of /cg/a");
    free(root);
}

static void test_version_1(void **state)
{
    (void)state;
    static const char mounts[] = "34 31 0:31 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
                                 "35 31 0:32 / /cg/memory rw,relatime - cgroup cgroup rw,memory\n"
                                 "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n";
    char *root = machine("one", "9:cpu:/z\n4:memory:/a/b\n0::/\n", mounts);
    put(root, "/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(root, "/cg/memory/memory.usage_in_bytes", "5242880\n");
    put(root, "/cg/memory/a/memory.limit_in_bytes", "4194304\n");
    put(root, "/cg/memory/a/memory.usage_in_bytes", "2097152\n");
    put(root, "/cg/memory/a/memory.stat", "total_inactive_file 524288\ntotal_active_file 524288\n");
    expect(root, NULL, 3 * MIB, "memory.limit_in_bytes of /cg/memory/a");
    free(root);
}

/* In a container its own group may be all that is mounted, whatever the group is called outside. */
static void test_containers(void **state)
{
    (void)state;
    char *root = machine("inside", "4:memory:/docker/1f\n",
                         "35 31 0:32 /docker/1f /cg rw - cgroup cgroup rw,memory\n");
    put(root, "/cg/memory.limit_in_bytes", "2097152\n");
    put(root, "/cg/memory.usage_in_bytes", "1048576\n");
    expect(root, NULL, MIB, "memory.limit_in_bytes of /cg");
    free(root);
    root = machine("moved", "0::/../other\n", "35 31 0:32 / /cg rw - cgroup2 cgroup rw\n");
    put(root, "/cg/memory.max", "3145728\n");
    put(root, "/cg/memory.current", "1048576\n");
    expect(root, NULL, 2 * MIB, "memory.max of /cg");
    free(root);
}

static void test_the_variable(void **state)
{
    (void)state;
    char *root = machine("told", "", "");
    expect(root, "3145728", 2 * MIB, "TEQUIO_MEMORY");
    expect(root, "2048K", MIB, "TEQUIO_MEMORY");
    expect(root, "1.5M", MIB / 2, "TEQUIO_MEMORY");
    expect(root, "1G", 1023 * MIB, "TEQUIO_MEMORY");
    expect(root, "1T", (1024 * 1024 - 1) * MIB, "TEQUIO_MEMORY");
    expect(root, "512K", 0, "TEQUIO_MEMORY");
    expect(root, "unlimited", SIZE_MAX, "nobody says how much");
    static const char *const wrong[] = {"", "lots", "1Q", "1GB", "-1G", "0", "nan", "inf"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        host_memory m;
        error err = ERROR_INIT;
        assert_int_equal(host_memory_read(root, wrong[i], &m, &err), E_CONFIG);
        assert_non_null(strstr(err.text, "is no number of bytes"));
    }
    free(root);
}

/* Where nothing can be read nothing is refused. */
static void test_nobody_says(void **state)
{
    (void)state;
    char *root = folder_file("nothing");
    expect(root, NULL, SIZE_MAX, "nobody says how much");
    put(root, "/proc/self/cgroup", "0::/a\nnonsense\n::::\n4:memory\n");
    put(root, "/proc/self/mountinfo", "nonsense\n - \n1 2 3 - cgroup2\n");
    expect(root, NULL, SIZE_MAX, "nobody says how much");
    free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_machine_without_limits),
        cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_the_variable),
        cmocka_unit_test(test_nobody_says),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
