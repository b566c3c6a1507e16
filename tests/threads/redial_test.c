/*
 * Connections break at any moment of a run: what was on its way is sent again, taken once, and the
 * weights stay the same.
 *
 * CTest labels: tsan smoke
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "support/inproc_cluster.h"
#include "support/net_fake.h"

static const char *const job =
    "model: {type: 'mlp', hidden: [300, 450], dropout: 0.3, batch_norm: true},"
    "data_loader: {batch_size: 4},"
    "trainer: {num_epochs: 4, batches_per_step: 4, grad_norm: 0.5, save_checkpoints_steps: 3,"
    "          optimizer: {type: 'sgd', lr: 0.05, momentum: 0.9}}";

typedef struct saw {
    const char *endpoint;
    int64_t every;
    size_t cut;
} saw;

/* Called where the master heard a step's end: the workers are in the middle of the next. */
static void cut_now(void *user, int64_t step)
{
    saw *s = user;
    if (step % s->every == 0)
        s->cut += net_fake_cut(s->endpoint);
}

static void check_cut(const char *address, const char *endpoint, int64_t every)
{
    inproc_cluster v = inproc_cluster_make(job);
    inproc_cluster_result alone = inproc_cluster_train_alone(&v);
    saw s = {.endpoint = endpoint, .every = every};
    inproc_cluster_result r = inproc_cluster_train(&v, &(inproc_cluster_shape){
                                             .servers = 2,
                                             .workers = 2,
                                             .lanes = 2,
                                             .address = address,
                                             .on_step = cut_now,
                                             .user = &s,
                                         });
    assert_true(s.cut > 0);
    assert_string_equal(r.params_sha256, alone.params_sha256);
    assert_int_equal(r.batches_applied, alone.batches_applied);
    inproc_cluster_fini(&v);
}

static void a_servers_connections_break(void **state)
{
    (void)state;
    check_cut("inproc://%s", "inproc://ps.1", 1);
    check_cut("tcp://%s:1", "tcp://ps.0:1", 2);
}

static void the_masters_connections_break(void **state)
{
    (void)state;
    check_cut("inproc://%s", "inproc://master.0", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_servers_connections_break),
        cmocka_unit_test(the_masters_connections_break),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
