/* What servers say of cuts, twice or too late, against a master without connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/fs.h"
#include "master/state.h"
#include "unit/master/support_saver.h"

#include <stdlib.h>

/* Four cuts, of which the first is open in `first`. */
typedef struct chair {
    books books;
    master_options options;
    master master;
    cut_order first;
} chair;

static void chair_take(chair *c)
{
    *c = (chair){.books = books_make()};
    plan p = {.total = 16, .every_steps = 4, .per_epoch = 100};
    c->options = (master_options){.n_servers = SERVERS, .dir = c->books.dir};
    c->master = (master){.o = &c->options, .phase = RUN, .total = p.total};
    c->master.saver = saver_of(&c->books, &p);
    c->master.fetches = fetches_create(c->books.dir);
    assert_true(saver_next_order(c->master.saver, clock_us(), 0, &c->first));
}

static void chair_leave(chair *c)
{
    fetches_destroy(&c->master.fetches);
    saver_destroy(&c->master.saver);
    books_fini(&c->books);
}

static size_t files_in(const books *b, const char *folder)
{
    char **names = NULL, *path = jobdir_file(b->dir, "%s", folder);
    size_t n = 0;
    error err = ERROR_INIT;
    must(fs_list(path, &names, &n, &err), &err);
    fs_list_free(names, n);
    free(path);
    return n;
}

/* The server was asked again, and its first answer had arrived: nothing is fetched twice. */
static void a_shard_that_is_here_is_not_fetched_again(void **state)
{
    (void)state;
    chair c;
    chair_take(&c);
    error err = ERROR_INIT;
    shard_report r = books_shard(&c.books, &c.first, 1, SERVERS, 1);
    must(saver_shard(c.master.saver, &r, &err), &err);
    assert_true(saver_has_shard(c.master.saver, c.first.id, 1));
    assert_false(saver_has_shard(c.master.saver, c.first.id, 0));
    Wire__CutDone again = WIRE__CUT_DONE__INIT;
    again.id = c.first.id;
    again.shard = 1;
    again.file = (char *)(uintptr_t)r.file;
    again.sha256 = (char *)(uintptr_t)r.sha256;
    again.bytes = r.bytes;
    again.failure = (char *)(uintptr_t)"";
    again.spooled = true;
    wire_head h = {.type = WIRE_CUT_DONE, .step = c.first.version};
    must(master_take_cut_done(&c.master, 1, &h, &again, &err), &err);
    assert_int_equal(files_in(&c.books, c.first.dir), 1);
    chair_leave(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_that_is_here_is_not_fetched_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
