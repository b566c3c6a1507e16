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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cut every four steps, of which the first is open. */
typedef struct chair {
    accounts accounts;
    config *config;
    master_options options;
    master master;
    cut_order first;
} chair;

static void chair_take(chair *c)
{
    *c = (chair){.accounts = accounts_make()};
    plan p = {.total = 16, .every_steps = 4, .per_epoch = 100};
    error err = ERROR_INIT;
    accounting_options of = {.dir = c->accounts.dir,
                         .steps = {.examples = 200, .batch_size = 1, .per_step = 2},
                         .summary_steps = 1};
    config_source text = {.text = "{train_data_path: 'x', model: {type: 'mlp'}, "
                                  "data_loader: {batch_size: 1}, trainer: {num_epochs: 1}}"};
    must(config_load(&text, &c->config, &err), &err);
    c->options = (master_options){.n_servers = SERVERS, .dir = c->accounts.dir, .config = c->config};
    c->master = (master){.o = &c->options, .phase = RUN, .plan = {.steps = of.steps, .total = p.total}};
    must(accounting_open(&of, 0, 0, &c->master.accounting, &err), &err);
    c->master.saver = saver_of(&c->accounts, &p);
    c->master.fetches = fetches_create(c->accounts.dir);
    assert_true(saver_next_order(c->master.saver, clock_us(), 0, &c->first));
}

static void chair_leave(chair *c)
{
    fetches_destroy(&c->master.fetches);
    saver_destroy(&c->master.saver);
    accounting_close(&c->master.accounting);
    config_destroy(&c->config);
    accounts_fini(&c->accounts);
}

static size_t files_in(const accounts *b, const char *folder)
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
    shard_report r = accounts_shard(&c.accounts, &c.first, 1, SERVERS, 1);
    must(saver_shard(c.master.saver, &r, &err), &err);
    assert_true(saver_has_shard(c.master.saver, c.first.id, 1));
    assert_false(saver_has_shard(c.master.saver, c.first.id, 0));
    Wire__CutDone again = WIRE__CUT_DONE__INIT;
    again.id = c.first.id;
    again.shard = 1;
    again.file = (char *)(uintptr_t)r.file;
    again.sha256 = (char *)(uintptr_t)r.sha256;
    again.bytes = r.bytes;
    again.failure = (char *)(uintptr_t) "";
    again.spooled = true;
    wire_head h = {.type = WIRE_CUT_DONE, .step = c.first.version};
    must(master_take_cut_done(&c.master, 1, &h, &again, &err), &err);
    assert_int_equal(files_in(&c.accounts, c.first.dir), 1);
    chair_leave(&c);
}

/* What the last master had ordered is written when the next one has come, which will order it too. A shard of
 * a cut that was given up is of no use. */
static void a_shard_that_was_not_ordered_yet_stays(void **state)
{
    (void)state;
    chair c;
    chair_take(&c);
    error err = ERROR_INIT;
    cut_order early = c.first;
    early.id = 17;
    early.version = 16;
    snprintf(early.dir, sizeof early.dir, "checkpoints/step-000000016.tmp.%s", strrchr(c.first.dir, '.') + 1);
    const cut_order *of[] = {&early, &c.first};
    saver_fail(c.master.saver, c.first.id);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        shard_report r = accounts_shard(&c.accounts, of[i], 0, SERVERS, 1);
        Wire__CutDone done = WIRE__CUT_DONE__INIT;
        done.id = of[i]->id;
        done.file = (char *)(uintptr_t)r.file;
        done.sha256 = (char *)(uintptr_t)r.sha256;
        done.bytes = r.bytes;
        done.failure = (char *)(uintptr_t) "";
        wire_head h = {.type = WIRE_CUT_DONE, .step = of[i]->version};
        must(master_take_cut_done(&c.master, 0, &h, &done, &err), &err);
    }
    assert_int_equal(files_in(&c.accounts, early.dir), 1);
    char *given_up = jobdir_file(c.accounts.dir, "%s", c.first.dir);
    assert_false(fs_exists(given_up));
    free(given_up);
    chair_leave(&c);
}

/* It was sent its parts after the cut, or lost the word of it: the plan goes on without. */
static void a_planned_cut_that_a_server_is_past_is_left_out(void **state)
{
    (void)state;
    chair c;
    chair_take(&c);
    c.options.n_servers = 0; /* none to tell of the next ones */
    error err = ERROR_INIT;
    master_order_cuts(&c.master);
    assert_int_equal(c.master.views.limit, 8);
    Wire__CutLate late = WIRE__CUT_LATE__INIT;
    late.id = c.first.id;
    late.newest = 6;
    for (int i = 0; i < 2; i++) {
        must(master_take_cut_late(&c.master, &late, &err), &err);
        assert_int_equal(c.master.phase, RUN);
        assert_int_equal(c.master.views.limit, 12);
        char dir[64];
        assert_false(saver_dir(c.master.saver, c.first.id, dir));
    }
    chair_leave(&c);
}

/* A cut by the clock is ordered while the servers are past it: those after it, which are written meanwhile, are
 * committed once it is later than they are. */
static void what_waited_for_a_cut_that_is_late_is_committed(void **state)
{
    (void)state;
    chair c;
    chair_take(&c);
    error err = ERROR_INIT;
    saver_destroy(&c.master.saver);
    c.options.n_servers = 0; /* none to tell */
    c.master.saver = saver_of(&c.accounts, &(plan){.total = 16, .every_steps = 8, .per_epoch = 100});
    results_options all = {.dir = c.accounts.dir, .flat = c.accounts.flat, .steps = c.master.plan.steps,
                           .schedule = {.in_order = true}, .goal = {.n = 1, .at = {{"loss", -1}}}};
    must(results_open(&all, 0, &c.master.results, &err), &err);
    for (int64_t slot = 0; slot < 16; slot++)
        accounting_report(c.master.accounting,
                          &(slot_report){.step = slot / 2, .slot = (uint32_t)(slot % 2), .examples = 1});
    cut_order at_8, at_16, soon;
    assert_true(saver_next_order(c.master.saver, clock_us(), 1, &at_8));
    assert_true(saver_next_order(c.master.saver, clock_us(), 1, &at_16));
    saver_soon(c.master.saver);
    assert_true(saver_next_order(c.master.saver, clock_us(), 1, &soon));
    assert_int_equal(at_8.version, 8);
    assert_true(soon.version < 8);
    for (int32_t s = 0; s < SERVERS; s++) {
        shard_report r = accounts_shard(&c.accounts, &at_8, s, SERVERS, 1.0f);
        must(master_take_written(&c.master, &r, &err), &err);
    }
    assert_int_equal(saver_last(c.master.saver), 0);
    Wire__CutLate late = WIRE__CUT_LATE__INIT;
    late.id = soon.id;
    late.newest = 8;
    must(master_take_cut_late(&c.master, &late, &err), &err);
    assert_int_equal(saver_last(c.master.saver), 8);
    results_close(&c.master.results);
    chair_leave(&c);
}

/* Who was sent its parts after a cut is past it: the one who acts has to write it first. */
static void a_server_does_not_act_again_amid_a_cut(void **state)
{
    (void)state;
    chair c;
    chair_take(&c);
    error err = ERROR_INIT;
    c.options.n_servers = 0;
    c.master.era.start = 5; /* and the cut is at 4 */
    assign_init(&c.master.assign, SERVERS, true);
    c.master.assign.shards[0] = (holders){.acting = 1, .standby = 0, .is_backed = true};
    must(master_watch_servers(&c.master, clock_us(), &err), &err);
    assert_int_equal(c.master.phase, RUN);
    assert_int_equal(c.master.assign.shards[0].acting, 1);
    assign_fini(&c.master.assign);
    chair_leave(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_that_is_here_is_not_fetched_again),
        cmocka_unit_test(a_shard_that_was_not_ordered_yet_stays),
        cmocka_unit_test(a_planned_cut_that_a_server_is_past_is_left_out),
        cmocka_unit_test(what_waited_for_a_cut_that_is_late_is_committed),
        cmocka_unit_test(a_server_does_not_act_again_amid_a_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
