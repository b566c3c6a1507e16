/* The spool: what is written may be asked for, also when a cut is written again. */
#include "ps/spool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdlib.h>
#include <string.h>

static void write_shard(spool *s, uint32_t id, const char *text)
{
    char *dir = spool_dir(s, id), *path = xasprintf("%s/shard", dir);
    assert_int_equal(fs_mkdirs(dir, NULL), OK);
    assert_int_equal(fs_write_atomic(path, text, strlen(text), NULL), OK);
    assert_int_equal(spool_add(s, id, 0, "shard", NULL), OK);
    free(path);
    free(dir);
}

static void check_holds(spool *s, uint32_t id, const char *text)
{
    buf piece = BUF_INIT;
    error err = ERROR_INIT;
    if (spool_read(s, id, 0, 0, &piece, &err) != OK)
        fail_msg("%s", err.text);
    assert_int_equal(piece.size, strlen(text));
    assert_memory_equal(piece.data, text, piece.size);
    assert_int_equal(spool_read(s, id, 0, piece.size, &piece, NULL), OK);
    assert_int_equal(piece.size, 0);
    buf_fini(&piece);
}

static void test_the_newest_four_are_kept(void **state)
{
    (void)state;
    spool *s;
    buf piece = BUF_INIT;
    assert_int_equal(spool_create(&s, NULL), OK);
    for (uint32_t id = 1; id <= 5; id++)
        write_shard(s, id, "text");
    assert_int_equal(spool_read(s, 1, 0, 0, &piece, NULL), E_PROTOCOL);
    for (uint32_t id = 2; id <= 5; id++)
        check_holds(s, id, "text");
    char *dir = spool_dir(s, 1);
    assert_false(fs_exists(dir));
    free(dir);
    spool_destroy(&s);
}

/* After a rollback the same cuts come again; a next master asks for one that is written already. */
static void test_a_cut_is_written_again(void **state)
{
    (void)state;
    spool *s;
    assert_int_equal(spool_create(&s, NULL), OK);
    write_shard(s, 4, "before");
    write_shard(s, 5, "before");
    write_shard(s, 4, "again");
    write_shard(s, 5, "after it");
    for (int i = 0; i < 5; i++)
        assert_int_equal(spool_add(s, 5, 0, "shard", NULL), OK);
    check_holds(s, 4, "again");
    check_holds(s, 5, "after it");
    write_shard(s, 7, "newer");
    check_holds(s, 4, "again");
    spool_destroy(&s);
}

/* After a connection was lost the master asks again for all it has open, the oldest first, and perhaps
 * for one that is gone. */
static void test_what_is_told_again_is_no_newer(void **state)
{
    (void)state;
    spool *s;
    error err = ERROR_INIT;
    assert_int_equal(spool_create(&s, NULL), OK);
    for (uint32_t id = 1; id <= 5; id++)
        write_shard(s, id, "text");
    assert_int_equal(spool_add(s, 1, 0, "shard", &err), E_IO);
    for (uint32_t id = 2; id <= 4; id++)
        assert_int_equal(spool_add(s, id, 0, "shard", NULL), OK);
    for (uint32_t id = 2; id <= 5; id++)
        check_holds(s, id, "text");
    write_shard(s, 6, "text");
    check_holds(s, 5, "text");
    assert_int_equal(spool_read(s, 2, 0, 0, &(buf)BUF_INIT, NULL), E_PROTOCOL);
    spool_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_newest_four_are_kept),
        cmocka_unit_test(test_a_cut_is_written_again),
        cmocka_unit_test(test_what_is_told_again_is_no_newer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
