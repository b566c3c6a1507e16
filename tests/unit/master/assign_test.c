/*
 * The assignment: as dealt, after losses and returns, and never a shard that nobody holds whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "master/servers/assign.h"

#include <string.h>

static void check(const assign *a, int32_t shard, int32_t acting, int32_t standby, bool is_backed)
{
    assert_int_equal(a->shards[shard].acting, acting);
    assert_int_equal(a->shards[shard].standby, standby);
    assert_int_equal(a->shards[shard].is_backed, is_backed);
}

static void test_as_dealt(void **state)
{
    (void)state;
    assign a;
    assign_init(&a, 3, true);
    for (int32_t i = 0; i < 3; i++)
        check(&a, i, i, (i + 1) % 3, true);
    assign_fini(&a);
}

/* Without copies, or without another server to hold them, a loss cannot be borne. */
static void test_without_copies(void **state)
{
    (void)state;
    const struct {
        int32_t n;
        bool copies;
    } cases[] = {{3, false}, {1, true}, {1, false}};
    for (size_t c = 0; c < 3; c++) {
        assign a;
        assign_init(&a, cases[c].n, cases[c].copies);
        check(&a, 0, 0, HOLDER_NONE, false);
        assert_false(assign_lose(&a, 0));
        check(&a, 0, 0, HOLDER_NONE, false);
        assert_false(assign_return(&a, 0));
        assert_false(assign_balance(&a));
        assert_true(assign_acts(&a, 0));
        assign_fini(&a);
    }
}

/* Lost, promoted, back as a standby, abreast, and acting again for what it was dealt. */
static void test_a_round(void **state)
{
    (void)state;
    assign a;
    assign_init(&a, 3, true);
    assert_true(assign_lose(&a, 1));
    check(&a, 0, 0, HOLDER_NONE, false);
    check(&a, 1, 2, HOLDER_NONE, false);
    check(&a, 2, 2, 0, true);
    assert_false(assign_needs(&a, 1));
    assert_false(assign_back(&a, 0));
    assert_true(assign_return(&a, 1));
    check(&a, 0, 0, 1, false);
    check(&a, 1, 2, 1, false);
    assert_true(assign_needs(&a, 1));
    assert_false(assign_acts(&a, 1));
    assert_false(assign_balance(&a));
    assert_true(assign_back(&a, 1));
    assert_false(assign_back(&a, 1));
    assert_false(assign_balance(&a)); /* shard 0 has no copy yet */
    assert_true(assign_back(&a, 0));
    assert_true(assign_balance(&a));
    for (int32_t i = 0; i < 3; i++)
        check(&a, i, i, (i + 1) % 3, true);
    assert_false(assign_balance(&a));
    assign_fini(&a);
}

/* The copy counts only once it is complete. */
static void test_two_deaths(void **state)
{
    (void)state;
    assign a, before;
    holders shards[2];
    assign_init(&a, 2, true);
    assert_true(assign_lose(&a, 0));
    check(&a, 0, 1, HOLDER_NONE, false);
    check(&a, 1, 1, HOLDER_NONE, false);
    assert_true(assign_return(&a, 0));
    before = a;
    memcpy(shards, a.shards, sizeof shards);
    assert_false(assign_lose(&a, 1)); /* it alone held all, and nothing has changed */
    assert_memory_equal(before.shards, shards, sizeof shards);
    assert_true(assign_lose(&a, 0)); /* the one that held nothing */
    assert_true(assign_return(&a, 0));
    assert_true(assign_back(&a, 0));
    assert_true(assign_back(&a, 1));
    assert_true(assign_lose(&a, 1));
    check(&a, 0, 0, HOLDER_NONE, false);
    check(&a, 1, 0, HOLDER_NONE, false);
    assign_deal(&a);
    check(&a, 1, 1, 0, true);
    assign_fini(&a);
}

enum { SERVERS = 3 };

/* Three servers as dealt, all in era 7, and what they claim; each part may be changed. */
typedef struct scene {
    holders dealt[SERVERS], turned[SERVERS]; /* of era 7, of an era 8 */
    bool holds[SERVERS][SERVERS];
    claim claims[SERVERS];
} scene;

static void scene_make(scene *s)
{
    *s = (scene){.dealt = {{0, 1, true}, {1, 2, true}, {2, 0, true}}};
    for (int i = 0; i < SERVERS; i++) {
        s->holds[i][i] = s->holds[(i + 1) % SERVERS][i] = true;
        s->claims[i] =
            (claim){.lineage = 5, .era = 7, .holds = s->holds[i], .assignment = s->dealt};
    }
}

/* What the servers say they hold, after the master's start. */
static void test_found_again(void **state)
{
    (void)state;
    scene s;
    assign a;
    assign_init(&a, SERVERS, true);
    scene_make(&s);
    assert_true(assign_find(&a, s.claims));
    for (int32_t i = 0; i < SERVERS; i++)
        check(&a, i, i, (i + 1) % SERVERS, true);
    /* server 0 is new: the next one acts for its shard, and nobody stands by for the last one's */
    s.claims[0].lineage = 0;
    assert_true(assign_find(&a, s.claims));
    check(&a, 0, 1, HOLDER_NONE, false);
    check(&a, 1, 1, 2, true);
    check(&a, 2, 2, HOLDER_NONE, false);
    /* another lineage is another job, as far as versions go */
    s.claims[0].lineage = 4;
    s.claims[0].era = 4;
    assert_true(assign_find(&a, s.claims));
    check(&a, 0, 1, HOLDER_NONE, false);
    /* and then nobody holds shard 1, which changes nothing */
    s.holds[1][1] = s.holds[2][1] = false;
    assert_false(assign_find(&a, s.claims));
    check(&a, 1, 1, 2, true);
    for (int i = 0; i < SERVERS; i++)
        s.claims[i].lineage = 0;
    assert_false(assign_find(&a, s.claims)); /* nobody holds anything */
    assign_fini(&a);
}

/* Who was replaced is named by the newest era no more: what it holds is old. */
static void test_found_replaced(void **state)
{
    (void)state;
    scene s;
    assign a;
    assign_init(&a, SERVERS, true);
    scene_make(&s);
    memcpy(s.turned,
           (holders[]){{0, HOLDER_NONE, false}, {2, HOLDER_NONE, false}, {2, 0, true}},
           sizeof s.turned);
    for (int i = 0; i < SERVERS; i += 2) {
        s.claims[i].era = 8;
        s.claims[i].assignment = s.turned;
    }
    assert_true(assign_find(&a, s.claims));
    check(&a, 0, 0, HOLDER_NONE, false);
    check(&a, 1, 2, HOLDER_NONE, false);
    check(&a, 2, 2, 0, true);
    assign_fini(&a);
}

/* The master died while it announced an era: one server has heard of it, and the others, whom it
 * names, hold what they held. Who was to be filled in it holds nothing that counts. */
static void test_found_half_announced(void **state)
{
    (void)state;
    scene s;
    assign a;
    assign_init(&a, SERVERS, true);
    scene_make(&s);
    memcpy(s.turned, s.dealt, sizeof s.turned);
    s.claims[0].era = 8;
    s.claims[0].assignment = s.turned;
    assert_true(assign_find(&a, s.claims));
    for (int32_t i = 0; i < SERVERS; i++)
        check(&a, i, i, (i + 1) % SERVERS, true);
    s.turned[1].is_backed = false;
    assert_true(assign_find(&a, s.claims));
    check(&a, 1, 1, HOLDER_NONE, false);
    s.claims[2].era = 8; /* it was filled since */
    assert_true(assign_find(&a, s.claims));
    check(&a, 1, 1, 2, true);
    assign_fini(&a);
}

/* Who acted acts on, whoever the shard was dealt to: only who acted is sure to vote. */
static void test_found_acting(void **state)
{
    (void)state;
    scene s;
    assign a;
    assign_init(&a, SERVERS, true);
    scene_make(&s);
    s.dealt[1] = (holders){2, 1, false};
    assert_true(assign_find(&a, s.claims));
    check(&a, 1, 2, 1, true);
    assign_fini(&a);
}

/* The master starts anew while a server that came back is being filled: it holds one shard whole,
 * so it is needed, and the other one gets it as its standby all the same. */
static void test_half_filled(void **state)
{
    (void)state;
    assign a;
    assign_init(&a, 2, true);
    const holders shards[2] = {{1, 0, false}, {1, 0, false}};
    const bool some[2] = {false, true}, all[2] = {true, true};
    const claim claims[2] = {{.lineage = 5, .era = 7, .holds = some, .assignment = shards},
                             {.lineage = 5, .era = 7, .holds = all, .assignment = shards}};
    const bool is_lost[2] = {false}, is_here[2] = {true, true};
    assert_true(assign_find(&a, claims));
    assert_true(assign_replace(&a, is_lost, is_here));
    check(&a, 0, 1, 0, false);
    check(&a, 1, 1, 0, true);
    assert_true(assign_back(&a, 0));
    assert_true(assign_balance(&a));
    for (int32_t i = 0; i < 2; i++)
        check(&a, i, i, 1 - i, true);
    const bool both_lost[2] = {true, true};
    assert_false(assign_replace(&a, both_lost, is_here));
    assign_fini(&a);
}

/* Two that do not reach each other: the one's copies count no more, and come anew. */
static void test_in_doubt(void **state)
{
    (void)state;
    assign a;
    assign_init(&a, 3, true);
    assign_doubt(&a, 0, 1);
    check(&a, 0, 0, 1, false);
    check(&a, 1, 1, 2, true);
    check(&a, 2, 2, 0, true);
    assert_false(assign_bears(&a, 0));
    assert_true(assign_bears(&a, 1));
    assert_true(assign_back(&a, 0));
    assert_true(assign_bears(&a, 0));
    assign_fini(&a);
}

/* Whatever happens: nobody both acts and stands by, and who acts holds the shard whole. */
static void test_any_course(void **state)
{
    (void)state;
    enum { N = 4, EVENTS = 20000 };
    assign a;
    bool holds[N][N], is_here[N] = {false}; /* [server][shard] a complete copy */
    assign_init(&a, N, true);
    rng r = rng_make(1, RNG_TEST, 5);
    for (int i = 0; i < N; i++) {
        is_here[i] = true;
        for (int s = 0; s < N; s++)
            holds[i][s] = s == i || (s + 1) % N == i;
    }
    for (uint64_t e = 0; e < EVENTS; e++) {
        int32_t one = (int32_t)(rng_u32(&r, 2 * e) % N);
        uint32_t what = rng_u32(&r, 2 * e + 1) % 4;
        if (what == 0 && is_here[one] && assign_lose(&a, one)) {
            is_here[one] = false;
            memset(holds[one], 0, sizeof holds[one]);
        } else if (what == 1 && !is_here[one]) {
            is_here[one] = true;
            (void)assign_return(&a, one);
        } else if (what == 2 && assign_back(&a, one)) {
            holds[a.shards[one].standby][one] = true;
        } else if (what == 3) {
            (void)assign_balance(&a);
        }
        for (int s = 0; s < N; s++) {
            const holders *h = &a.shards[s];
            assert_true(is_here[h->acting] && holds[h->acting][s]);
            assert_true(h->standby != h->acting);
            if (h->standby != HOLDER_NONE)
                assert_true(is_here[h->standby] && (!h->is_backed || holds[h->standby][s]));
            else
                assert_false(h->is_backed);
        }
    }
    assign_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_dealt),   cmocka_unit_test(test_without_copies),
        cmocka_unit_test(test_a_round),    cmocka_unit_test(test_two_deaths),
        cmocka_unit_test(test_found_again), cmocka_unit_test(test_found_replaced),
        cmocka_unit_test(test_found_half_announced), cmocka_unit_test(test_found_acting),
        cmocka_unit_test(test_half_filled),  cmocka_unit_test(test_in_doubt),
        cmocka_unit_test(test_any_course),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
