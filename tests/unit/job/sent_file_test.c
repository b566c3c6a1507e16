/* A file that comes over a command's standard output: all of it, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "job/process/sent_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE = (9 << 20) + 7 };

/* What `script` sends is received into *ret. */
static status receive(const char *script, int *ret_code, buf *ret, error *err)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    const sent_file_sender from = {.argv = argv, .who = "host one", .where = "on host one"};
    int fd = memfd_create("received", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "what was there", 14), 14);
    status st = sent_file_receive(&from, "best/model", fd, ret_code, err);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    buf_fini(ret);
    if (st == OK)
        assert_int_equal(fs_read(path, 64 << 20, ret, NULL), OK);
    close(fd);
    return st;
}

static void receives(const char *script, const char *bytes)
{
    buf got = BUF_INIT;
    error err = ERROR_INIT;
    int code = -1;
    assert_int_equal(receive(script, &code, &got, &err), OK);
    assert_int_equal(code, 0);
    assert_string_equal(got.data ? got.data : "", bytes);
    buf_fini(&got);
}

static void refuses(const char *script, status expected, const char *words)
{
    buf got = BUF_INIT;
    error err = ERROR_INIT;
    int code = -1;
    assert_int_equal(receive(script, &code, &got, &err), expected);
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
}

static void a_file_of_any_size_comes_whole(void **state)
{
    (void)state;
    char *folder = NULL;
    assert_int_equal(fs_make_temporary("sent", &folder, NULL), OK);
    char *path = xasprintf("%s/model", folder), digest[SHA256_HEX];
    unsigned char *bytes = xcalloc(LARGE, 1);
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    assert_int_equal(fs_write_atomic(path, bytes, LARGE, NULL), OK);
    sha256_hex(bytes, LARGE, digest);
    char *script = xasprintf("echo welcome; echo 'tequio-file %d %s'; cat '%s'", LARGE, digest, path);
    buf got = BUF_INIT;
    error err = ERROR_INIT;
    int code = -1;
    assert_int_equal(receive(script, &code, &got, &err), OK);
    assert_int_equal(got.size, LARGE);
    assert_memory_equal(got.data, bytes, LARGE);
    buf_fini(&got);
    free(script);
    free(bytes);
    free(path);
    assert_int_equal(fs_remove_tree(folder, NULL), OK);
    free(folder);
}

static void warnings_are_no_bytes_of_it(void **state)
{
    (void)state;
    receives("echo welcome; echo 'tequio-file 6'; printf abc; echo 'a warning' >&2; printf def", "abcdef");
    receives("echo 'tequio-file 6 "
             "bef57ec7f53a6d40beb640a780a639c83bc29ac8a9816f1fc6c5c6dcd93c4721'; printf abc; echo w >&2; printf def",
             "abcdef");
    receives("echo 'tequio-file 0'", "");
    receives("echo 'tequio-file of old'; echo 'tequio-file 1'; printf a", "a");
}

static void what_is_not_the_file_is_refused(void **state)
{
    (void)state;
    refuses("echo 'tequio-file 6'; printf abc; echo 'lost the way' >&2", E_IO,
            "did not come whole, on host one: 3 of 6 bytes; lost the way");
    refuses("echo 'tequio-file 3'; printf abcdef", E_IO, "more than the 3 bytes of 'best/model' came, on host one");
    refuses("echo 'tequio-file 6 0000000000000000000000000000000000000000000000000000000000000000'; printf abcdef",
            E_IO, "other bytes than were sent");
    refuses("echo 'tequio-none'", E_DATA, "'best/model' is not there, on host one");
    refuses("echo welcome", E_IO, "did not come whole");
    refuses("echo 'no route' >&2; exit 255", E_FAIL, "host one: no route");
    refuses("echo 'tequio-file 3'; printf abc; echo 'cut off' >&2; exit 255", E_FAIL, "host one: cut off");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_any_size_comes_whole),
        cmocka_unit_test(warnings_are_no_bytes_of_it),
        cmocka_unit_test(what_is_not_the_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
