/*
 * Shards fetched piece by piece: in place only when they are whole, whoever else fetches the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "common/base/hash.h"
#include "master/cuts/fetch.h"
#include "unit/master/support_accounts.h"

#include <stdlib.h>
#include <unistd.h>

#define FOLDER "checkpoints/step-000000004.tmp.7"
#define PLACE  FOLDER "/ps-0-of-1.safetensors"

static const char shard[] = "what a server has written";

static shard_report report_of(const char *digest)
{
    return (shard_report){.id = 5,
                          .version = 4,
                          .file = "ps-0-of-1.safetensors",
                          .sha256 = digest,
                          .bytes = sizeof shard};
}

/* The piece from `at` to `end`, or none, which says that the file ends there. */
static status take(fetches *f, size_t at, size_t end, bool *ret_done)
{
    shard_piece piece = {.id = 5, .offset = at};
    uint64_t offset;
    bool next;
    shard_report r;
    return fetches_take(f, &piece, shard + at, end - at, &next, &offset, ret_done, &r, NULL);
}

static void check_place(const accounts *b)
{
    char *text = accounts_text(b, PLACE);
    assert_string_equal(text, shard);
    free(text);
}

/* A master that was frozen meanwhile goes on, or gives up: what the next one fetched stays. */
static void two_masters_fetch_one_shard(void **state)
{
    (void)state;
    accounts b = accounts_make();
    char digest[SHA256_HEX];
    sha256_hex(shard, sizeof shard, digest);
    shard_report r = report_of(digest);
    fetches *frozen = fetches_create(b.dir), *next = fetches_create(b.dir);
    error err = ERROR_INIT;
    bool done;
    must(fetches_begin(next, &r, FOLDER, &err), &err);
    must(take(next, 0, sizeof shard, &done), &err);
    must(fetches_begin(frozen, &r, FOLDER, &err), &err);
    must(take(frozen, 0, 3, &done), &err);
    assert_false(accounts_has(&b, PLACE));
    must(take(next, sizeof shard, sizeof shard, &done), &err);
    assert_true(done);
    check_place(&b);
    must(take(frozen, 3, 6, &done), &err);
    check_place(&b);
    fetches_destroy(&frozen);
    check_place(&b);
    fetches_destroy(&next);
    check_place(&b);
    accounts_fini(&b);
}

static void what_comes_damaged_is_not_put_in_place(void **state)
{
    (void)state;
    accounts b = accounts_make();
    char digest[SHA256_HEX];
    sha256_hex(shard, sizeof shard, digest);
    digest[0] ^= 1;
    shard_report r = report_of(digest);
    fetches *f = fetches_create(b.dir);
    error err = ERROR_INIT;
    bool done;
    must(fetches_begin(f, &r, FOLDER, &err), &err);
    must(take(f, 0, sizeof shard, &done), &err);
    assert_int_equal(take(f, sizeof shard, sizeof shard, &done), E_DATA);
    assert_false(accounts_has(&b, PLACE));
    fetches_destroy(&f);
    char *folder = jobdir_file(b.dir, FOLDER);
    assert_int_equal(rmdir(folder), 0); /* it is empty */
    free(folder);
    accounts_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_masters_fetch_one_shard),
        cmocka_unit_test(what_comes_damaged_is_not_put_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
