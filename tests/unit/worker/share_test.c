/* What a worker reads from a view: its own lanes, and nothing out of range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/share.h"

enum { SLOTS = 5, HEDGES = 2 };

typedef struct announcement {
    Wire__View view;
    Wire__View__Owner owners[SLOTS], hedgers[HEDGES];
    Wire__View__Hedge hedges[HEDGES];
    Wire__View__Owner *owner_pointers[SLOTS];
    Wire__View__Hedge *hedge_pointers[HEDGES];
} announcement;

static Wire__View__Owner owner(bool trainer, uint32_t worker, uint32_t number)
{
    Wire__View__Owner o = WIRE__VIEW__OWNER__INIT;
    o.trainer = trainer;
    o.worker = worker;
    o.lane = number;
    return o;
}

/* Slots of worker 3 (lanes 0 and 1), of another, of the chief's lanes; slots 3 and 4 are hedged. */
static void announce(announcement *a)
{
    *a = (announcement){.view = WIRE__VIEW__INIT};
    const Wire__View__Owner owners[SLOTS] = {owner(false, 3, 0), owner(false, 3, 1),
                                             owner(true, 3, 0), owner(false, 2, 0),
                                             owner(false, 3, 2)};
    const Wire__View__Owner hedgers[HEDGES] = {owner(false, 3, 1), owner(false, 2, 0)};
    for (uint32_t i = 0; i < SLOTS; i++) {
        a->owners[i] = owners[i];
        a->owner_pointers[i] = &a->owners[i];
    }
    for (uint32_t i = 0; i < HEDGES; i++) {
        wire__view__hedge__init(&a->hedges[i]);
        a->hedgers[i] = hedgers[i];
        a->hedges[i].slot = 3 + i;
        a->hedges[i].owner = &a->hedgers[i];
        a->hedge_pointers[i] = &a->hedges[i];
    }
    a->view.n_slots = SLOTS;
    a->view.slots = a->owner_pointers;
    a->view.n_hedges = HEDGES;
    a->view.hedges = a->hedge_pointers;
    a->view.start_step = 7;
    a->view.examples_per_epoch = 100;
    a->view.batch_size = 10;
}

static void check_read(const share_reader *self, const int32_t *own, const int32_t *hedged)
{
    announcement a;
    announce(&a);
    lane_share s;
    assert_int_equal(share_read(&a.view, self, &s, NULL), OK);
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(s.own[i], own[i]);
        assert_int_equal(s.hedged[i], hedged[i]);
    }
    assert_int_equal(s.n_slots, SLOTS);
    assert_int_equal(s.since, 7);
    share_free(&s);
    share_free(&s);
}

static void each_reads_what_is_its_own(void **state)
{
    (void)state;
    /* two lanes of worker 3: a third that is announced is not there */
    check_read(&(share_reader){.index = 3, .n_lanes = 2}, (int32_t[]){0, 1, -1, -1, -1},
               (int32_t[]){-1, -1, -1, 1, -1});
    check_read(&(share_reader){.index = 2, .n_lanes = 1}, (int32_t[]){-1, -1, -1, 0, -1},
               (int32_t[]){-1, -1, -1, -1, 0});
    check_read(&(share_reader){.trainer = true, .index = 3, .n_lanes = 1},
               (int32_t[]){-1, -1, 0, -1, -1}, (int32_t[]){-1, -1, -1, -1, -1});
}

static void refuse(const announcement *a)
{
    lane_share s;
    assert_int_equal(share_read(&a->view, &(share_reader){.n_lanes = 1}, &s, NULL), E_PROTOCOL);
}

static void what_is_out_of_range_is_refused(void **state)
{
    (void)state;
    announcement a;
    announce(&a);
    a.view.n_slots = 0;
    refuse(&a);
    announce(&a);
    a.view.start_step = -1;
    refuse(&a);
    announce(&a);
    a.view.batch_size = 0;
    refuse(&a);
    announce(&a);
    a.view.examples_per_epoch = -5;
    refuse(&a);
    announce(&a);
    a.hedges[1].slot = SLOTS;
    refuse(&a);
}

static void a_hedge_without_an_owner_is_nobodys(void **state)
{
    (void)state;
    announcement a;
    announce(&a);
    a.hedges[0].owner = NULL;
    lane_share s;
    assert_int_equal(share_read(&a.view, &(share_reader){.index = 3, .n_lanes = 2}, &s, NULL), OK);
    assert_int_equal(s.hedged[3], -1);
    share_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reads_what_is_its_own),
        cmocka_unit_test(what_is_out_of_range_is_refused),
        cmocka_unit_test(a_hedge_without_an_owner_is_nobodys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
