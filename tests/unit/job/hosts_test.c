/* Hosts from files and lists, and who is dealt where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/ssh/hosts.h"

#include <string.h>

static void files_are_read(void **state)
{
    (void)state;
    static const char text[] = "# the rack\n"
                               "gpu1 slots=2 gpus=4\n"
                               "\n"
                               "me@10.0.0.2  address=fd00::2 # over the switch\r\n"
                               "gpu3\n";
    arena *memory = arena_create();
    hosts h;
    assert_int_equal(hosts_read(text, "hosts", memory, &h, NULL), OK);
    assert_int_equal(h.n, 3);
    assert_string_equal(h.at[0].name, "gpu1");
    assert_string_equal(h.at[0].address, "gpu1");
    assert_int_equal(h.at[0].slots, 2);
    assert_int_equal(h.at[0].gpus, 4);
    assert_string_equal(h.at[1].name, "me@10.0.0.2");
    assert_string_equal(h.at[1].address, "fd00::2");
    assert_int_equal(h.at[1].slots, 0);
    assert_int_equal(h.at[2].gpus, -1);
    arena_destroy(&memory);
}

static void lists_are_read(void **state)
{
    (void)state;
    arena *memory = arena_create();
    hosts h;
    assert_int_equal(hosts_of_list("a,me@b:4,c", memory, &h, NULL), OK);
    assert_int_equal(h.n, 3);
    assert_string_equal(h.at[1].name, "me@b");
    assert_string_equal(h.at[1].address, "b");
    assert_int_equal(h.at[1].slots, 4);
    arena_destroy(&memory);
}

static void bad_hosts_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "hosts: there is no host in it"},
        {"a\nb slots=0\n",
         "hosts:2: b: 'slots=0' is none of slots=N (from 1), gpus=N (from 0) and address=ADDRESS"},
        {"a cpus=2\n",
         "hosts:1: a: 'cpus=2' is none of slots=N (from 1), gpus=N (from 0) and address=ADDRESS"},
        {"a\na\n", "hosts:2: a stands here a second time; give it more slots"},
        {"-oProxyCommand=x\n",
         "hosts:1: '-oProxyCommand=x' is no name of a host; it is HOST or USER@HOST"},
        {"gpu1:99999\n",
         "hosts:1: 'gpu1:99999': ssh's port of a host belongs into ~/.ssh/config; slots are slots=N"},
        {"a address=[fd00::2]:22\n",
         "hosts:1: a: 'address=[fd00::2]:22': an address without a port; tasks have those from "
         "--start-port on"},
        {"me@\n", "hosts:1: 'me@' is no name of a host; it is HOST or USER@HOST"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        arena *memory = arena_create();
        hosts h;
        error err = ERROR_INIT;
        assert_int_equal(hosts_read(cases[i].text, "hosts", memory, &h, &err), E_CONFIG);
        assert_string_equal(err.text, cases[i].says);
        arena_destroy(&memory);
    }
    error err = ERROR_INIT;
    arena *memory = arena_create();
    hosts h;
    assert_int_equal(hosts_of_list("a:x", memory, &h, &err), E_CONFIG);
    assert_string_equal(err.text, "--hosts: 'a:x': slots are a number from 1, as in a:4");
    arena_destroy(&memory);
}

/* --- dealing --- */

static job job_of(int workers, int ps, int gpus)
{
    job j = {.id = "j"};
    j.pools[ROLE_MASTER] = (job_pool){.count = 1, .gpus = gpus};
    j.pools[ROLE_WORKER] = (job_pool){.count = workers, .gpus = gpus};
    j.pools[ROLE_PS] = (job_pool){.count = ps};
    return j;
}

/* Of all tasks in the order in which they are dealt: "0 1 2 ..." of their hosts. */
static const char *dealt(const char *text, const job *j, char *ret, error *err)
{
    static const role order[] = {ROLE_MASTER, ROLE_WORKER, ROLE_PS};
    arena *memory = arena_create();
    hosts h;
    assert_int_equal(hosts_read(text, "hosts", memory, &h, NULL), OK);
    char *at = ret;
    *ret = '\0';
    for (size_t r = 0; r < COUNT_OF(order); r++)
        for (int i = 0; i < j->pools[order[r]].count; i++) {
            hosts_place where;
            if (hosts_deal(&h, j, (task){order[r], i}, &where, err) == OK)
                *at++ = (char)('0' + where.host);
        }
    *at = '\0';
    arena_destroy(&memory);
    return ret;
}

static void tasks_are_spread(void **state)
{
    (void)state;
    char got[64];
    error err = ERROR_INIT;
    job j = job_of(4, 2, 0);
    assert_string_equal(dealt("a\nb\nc\n", &j, got, &err), "0120120"); /* c has one task yet */
    j = job_of(2, 1, 0);
    assert_string_equal(dealt("a slots=1\nb slots=3\n", &j, got, &err), "0111");
    j = job_of(2, 1, 4);
    assert_string_equal(dealt("a gpus=8\nb gpus=0\nc gpus=4\n", &j, got, &err), "0201");
    assert_int_equal(err.code, OK);
}

static void too_little_room_is_told(void **state)
{
    (void)state;
    char got[64];
    error err = ERROR_INIT;
    job j = job_of(2, 1, 4);
    dealt("a gpus=4\nb gpus=4\n", &j, got, &err);
    assert_string_equal(err.text,
                        "no host has room for worker.1: the job has 4 tasks and 12 GPUs, the 2 hosts "
                        "name 0 slots and 8 GPUs; add hosts or slots, or use --scale-down");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read),     cmocka_unit_test(lists_are_read),
        cmocka_unit_test(bad_hosts_are_named), cmocka_unit_test(tasks_are_spread),
        cmocka_unit_test(too_little_room_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
