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

static status add(spool *s, uint32_t id, error *err)
{
    return spool_add(s, &(spool_shard){.id = id, .version = id - 1, .file = "shard"}, err);
}

static void write_shard(spool *s, uint32_t id, const char *text)
{
    char *dir = spool_dir(s, id), *path = xasprintf("%s/shard", dir);
    assert_int_equal(fs_mkdirs(dir, NULL), OK);
    assert_int_equal(fs_write_atomic(path, text, strlen(text), NULL), OK);
    assert_int_equal(add(s, id, NULL), OK);
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

static void check_lacks(spool *s, uint32_t id)
{
    buf piece = BUF_INIT;
    assert_int_equal(spool_read(s, id, 0, 0, &piece, NULL), E_PROTOCOL);
    char *dir = spool_dir(s, id);
    assert_false(fs_exists(dir));
    free(dir);
}

static void test_all_are_kept_that_are_not_saved(void **state)
{
    (void)state;
    spool *s;
    assert_int_equal(spool_create(&s, NULL), OK);
    write_shard(s, 100, "text"); /* the last one, of a server without parts: written at the start */
    for (uint32_t id = 1; id <= 7; id++)
        write_shard(s, id, "text");
    for (uint32_t id = 1; id <= 7; id++)
        check_holds(s, id, "text");
    spool_saved(s, 4); /* of id 5 */
    check_lacks(s, 1);
    check_lacks(s, 2);
    for (uint32_t id = 3; id <= 7; id++)
        check_holds(s, id, "text");
    spool_saved(s, 98);
    check_lacks(s, 4);
    check_holds(s, 5, "text");
    check_holds(s, 100, "text");
    error err = ERROR_INIT;
    assert_int_equal(add(s, 4, &err), E_IO);
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
        assert_int_equal(add(s, 5, NULL), OK);
    check_holds(s, 4, "again");
    check_holds(s, 5, "after it");
    write_shard(s, 7, "newer");
    check_holds(s, 4, "again");
    spool_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_kept_that_are_not_saved),
        cmocka_unit_test(test_a_cut_is_written_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
