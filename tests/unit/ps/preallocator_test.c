/*
 * Spares: what a table will lack while a cut holds its blocks is made before, once, and then no
 * update needs memory of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ps/preallocator.h"
#include "unit/ps/support_table.h"

static size_t lacking(const table *t, const flat *f)
{
    size_t n = 0, floats;
    for (int32_t p = 0; p < f->n_parts; p++)
        n += table_lacks(t, p, &floats);
    return n;
}

/* Until the maker's word has come. */
static void await(net_waker *waker, preallocator *s, table *t, const flat *f)
{
    for (int i = 0; i < 200 && lacking(t, f); i++) {
        assert_int_equal(net_poll(NULL, 0, waker, 100, NULL), OK);
        preallocator_take(s, t);
    }
}

/* A table at version 1 that has its preallocator, and what a cut holds of it. */
typedef struct scene {
    shape shape;
    servers servers;
    table *table;
    net_waker *waker;
    preallocator *preallocator;
    span *weights[8], *slots[8][OPTIM_SLOTS];
} scene;

static void scene_make(scene *c)
{
    *c = (scene){.shape = shape_large(2)};
    c->servers = servers_make(&c->shape, 1, &quiet_hooks, 0, NULL);
    c->table = c->servers.tables[0];
    assert_int_equal(net_waker_create(&c->waker, NULL), OK);
    c->preallocator = preallocator_create(c->waker);
    preallocator_take(c->preallocator, c->table); /* nothing was ordered */
    servers_push_all(&c->servers, 0);
    const flat *f = c->shape.flat;
    size_t per_part = 1 + optim_slots(&c->shape.optim);
    assert_int_equal(lacking(c->table, f), per_part * (size_t)f->n_live_parts);
    preallocator_order(c->preallocator, c->table, f->n_parts);
    await(c->waker, c->preallocator, c->table, f);
    assert_int_equal(lacking(c->table, f), 0);
    for (int32_t p = 0; p < f->n_parts; p++)
        assert_int_equal(table_freeze(c->table, p, &c->weights[p], c->slots[p], NULL), OK);
}

static void scene_thaw(scene *c)
{
    for (int32_t p = 0; p < c->shape.flat->n_parts; p++) {
        span_drop(c->weights[p]);
        for (size_t i = 0; i < OPTIM_SLOTS; i++)
            span_drop(c->slots[p][i]);
    }
}

static void scene_fini(scene *c)
{
    preallocator_destroy(&c->preallocator);
    net_waker_destroy(&c->waker);
    servers_fini(&c->servers);
    shape_fini(&c->shape);
}

/* Updates the table twice beyond the cut, and looks at what the cut holds and what came of it. */
static void play_on(scene *c)
{
    whole at_cut = whole_make(&c->shape), now = whole_make(&c->shape);
    whole_step(&at_cut, 1);
    for (int i = 0; i < 3; i++)
        whole_step(&now, 1);
    servers_push_all(&c->servers, 1); /* writes into the preallocator, all but those of version 0 */
    servers_push_all(&c->servers, 2);
    servers_check(&c->servers, &now);
    const flat *f = c->shape.flat;
    for (int32_t p = 0; p < f->n_live_parts; p++) {
        size_t begin = (size_t)f->parts[p].begin, bytes = c->weights[p]->bytes;
        assert_memory_equal(c->weights[p]->data, at_cut.weights + begin, bytes);
        for (size_t i = 0; i < optim_slots(&c->shape.optim); i++)
            assert_memory_equal(c->slots[p][i]->data, at_cut.slots[i] + begin, bytes);
    }
    whole_fini(&now);
    whole_fini(&at_cut);
}

static void test_no_update_lacks_a_block(void **state)
{
    (void)state;
    scene c;
    scene_make(&c);
    play_on(&c);
    scene_thaw(&c);
    assert_int_equal(lacking(c.table, c.shape.flat), 0); /* for the next cut */
    preallocator_order(c.preallocator, c.table, c.shape.flat->n_parts);
    preallocator_take(c.preallocator, c.table);
    scene_fini(&c);
}

/* State that is settled is the table's own again: the next update finds it where it is. */
static void test_state_settles_into_spares(void **state)
{
    (void)state;
    scene c;
    scene_make(&c);
    for (int32_t p = 0; p < c.shape.flat->n_parts; p += 2)
        table_settle(c.table, p);
    for (int32_t p = 0; p < c.shape.flat->n_live_parts; p++)
        for (size_t i = 0; i < optim_slots(&c.shape.optim); i++) {
            loss_scale scale;
            span *b = table_vector(c.table, p, (uint32_t)i + 1, &scale);
            assert_int_equal(b != c.slots[p][i], p % 2 == 0);
            assert_memory_equal(b->data, c.slots[p][i]->data, b->bytes);
            span_drop(b);
        }
    play_on(&c);
    scene_thaw(&c);
    scene_fini(&c);
}

static void test_an_end_in_the_midst(void **state)
{
    (void)state;
    shape s = shape_large(2);
    servers v = servers_make(&s, 1, &quiet_hooks, 0, NULL);
    net_waker *waker = NULL;
    assert_int_equal(net_waker_create(&waker, NULL), OK);
    for (int i = 0; i < 20; i++) {
        preallocator *made = preallocator_create(waker);
        preallocator_order(made, v.tables[0], s.flat->n_parts);
        preallocator_destroy(&made);
    }
    net_waker_destroy(&waker);
    servers_fini(&v);
    shape_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_update_lacks_a_block),
        cmocka_unit_test(test_state_settles_into_spares),
        cmocka_unit_test(test_an_end_in_the_midst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
