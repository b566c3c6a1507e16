/*
 * The walk over a device that computes apart, with a stub that does everything as late as it
 * may: what is on the host when a hook is called, what is on the device when a kernel runs, what
 * goes up again, and how a run ends that does not end well.
 */
#include "common/base/clock.h"
#include "unit/exec/support_device.h"
#include "unit/exec/support_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static void test_parts_are_needed_before_and_ready_after_all_that_touch_them(void **state)
{
    rig *r = *state;
    for (size_t turn = 0; turn < 4; turn++) {
        const graph *g = turn % 2 ? r->small.graph : r->model.graph;
        device.keen = turn >= 2;
        run(r, turn % 2);
        int32_t next = 0;
        for (size_t i = 0; i < r->n_events; i++)
            if (r->events[i].kind == NODE)
                assert_int_equal(r->events[i].index, next++);
        assert_int_equal(next, graph_n_nodes(g));
        for (int32_t part = 0; part < r->flat->n_live_parts; part++) {
            int32_t first, last;
            part_span(r, g, part, true, &first, &last);
            assert_true(first < 0 || find_event(r, NEED, part) < find_event(r, NODE, first));
            part_span(r, g, part, false, &first, &last);
            int at = find_event(r, READY, part);
            assert_true(at > find_event(r, NODE, last));
            assert_ptr_equal(r->events[at].grad, exec_grad(r->exec) + r->flat->parts[part].begin);
        }
        assert_true(device_is_idle());
    }
}

static void test_a_keen_device_has_parts_handed_over_on_the_way(void **state)
{
    rig *r = *state;
    device.keen = true;
    run(r, 0);
    int last = find_event(r, NODE, graph_n_nodes(r->model.graph) - 1), early = 0;
    for (int i = 0; i < last; i++)
        early += r->events[i].kind == READY;
    assert_true(early > 0);
}

/* What the host finds is what a backend without queues would have left there. */
static status check_gradient(void *user, int32_t part, const float *grad, error *err)
{
    (void)err;
    rig *r = user;
    const graph *g = r->model.graph;
    const float *loss = exec_value(r->exec, 0, "loss", NULL);
    assert_true(*loss == (float)(graph_value_at(g, r->model.loss)->def + 1));
    size_t n;
    const part_segment *s = flat_part_segments(r->flat, part, &n);
    for (size_t i = 0; i < n; i++) {
        const graph_value *param =
            graph_value_at(g, graph_find(g, r->flat->tensors[s[i].tensor].name));
        const float *at = grad + (s[i].at - r->flat->parts[part].begin);
        for (int64_t k = 0; k < s[i].n; k++)
            assert_true(at[k] == (float)(graph_value_at(g, param->grad)->def + 1));
    }
    r->n_events++;
    return OK;
}

static void test_what_is_ready_is_on_the_host_and_so_is_the_loss(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    for (int keen = 0; keen < 2; keen++) {
        device.keen = keen;
        r->n_events = 0;
        stub.ran = NULL;
        exec_hooks hooks = {.ready = check_gradient, .user = r};
        must(exec_run(r->exec, 0, &hooks, &err), &err);
        assert_int_equal(r->n_events, r->flat->n_live_parts);
    }
}

static void look_at_input(void *user, int32_t node, void *const *addresses, void *workspace)
{
    (void)workspace;
    rig *r = user;
    const float *x = addresses[r->model.x], *four = addresses[r->model.factor];
    assert_true(device_owns(x) && device_owns(four));
    for (int i = 0; node == 0 && i < 400; i++)
        assert_true(x[i] == r->params[0] + (float)i);
    assert_memory_equal(four, ((float[]){4, 5}), 2 * sizeof(float));
    r->n_events += node == 0;
}

static void test_kernels_find_inputs_and_constants(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    float *x = exec_input(r->exec, 0, "x", NULL);
    assert_false(device_owns(x));
    stub.ran = look_at_input;
    for (int turn = 1; turn <= 3; turn++) {
        r->params[0] = (float)turn;
        for (int i = 0; i < 400; i++)
            x[i] = (float)(turn + i);
        must(exec_run(r->exec, 0, NULL, &err), &err);
    }
    assert_int_equal(r->n_events, 3);
}

/* --- sums over slots --- */

typedef struct slot_run {
    rig *rig;
    exec_slot slot;
    int n_given, n_kept;
} slot_run;

/* All runs make the same gradients, so a sum is a multiple. */
static status take_sum(void *user, int32_t part, const float *grad, error *err)
{
    (void)err;
    slot_run *s = user;
    const flat *f = s->rig->flat;
    bool is_whole = s->slot.slot + 1 == tree_node_end(s->slot.sum, s->slot.n_slots);
    assert_int_equal(grad != NULL, is_whole);
    *(grad ? &s->n_given : &s->n_kept) += 1;
    size_t n;
    const part_segment *at = flat_part_segments(f, part, &n);
    float n_slots = (float)(s->slot.slot + 1 - tree_node_first(s->slot.sum));
    for (size_t i = 0; grad && i < n; i++) {
        const graph *g = s->rig->model.graph;
        graph_val v = graph_value_at(g, graph_find(g, f->tensors[at[i].tensor].name))->grad;
        float one = (float)(graph_value_at(g, v)->def + 1);
        assert_true(grad[at[i].at - f->parts[part].begin] == n_slots * one);
    }
    return OK;
}

static void run_step(rig *r, uint32_t n_slots)
{
    error err = ERROR_INIT;
    tree_node nodes[64];
    size_t n = tree_cover(0, n_slots - (n_slots > 4), n_slots, nodes);
    slot_run s = {.rig = r, .slot.n_slots = n_slots};
    for (size_t i = 0; i < n; i++) {
        s.slot.sum = nodes[i];
        assert_int_equal(exec_keep_sums(r->exec, nodes[i].level), nodes[i].level);
        for (; s.slot.slot < tree_node_end(nodes[i], n_slots); s.slot.slot++) {
            exec_hooks hooks = {.ready = take_sum, .slot = &s.slot, .user = &s};
            must(exec_run(r->exec, 0, &hooks, &err), &err);
        }
    }
    assert_int_equal(s.n_given, (int)n * r->flat->n_live_parts);
    assert_int_equal(s.n_kept, ((int)s.slot.slot - (int)n) * r->flat->n_live_parts);
}

static void test_only_whole_nodes_of_the_tree_come_down(void **state)
{
    rig *r = *state;
    stub.ran = NULL;
    for (uint32_t n_slots = 1; n_slots <= 9; n_slots++)
        run_step(r, n_slots);
}

static void test_sums_are_as_high_as_there_is_memory_for(void **state)
{
    rig *r = *state;
    assert_int_equal(exec_keep_sums(r->exec, 2), 2);
    device.no_memory = true;
    assert_int_equal(exec_keep_sums(r->exec, 5), 2);
    device.no_memory = false;
    assert_int_equal(exec_keep_sums(r->exec, 5), 2);
    assert_int_equal(exec_keep_sums(r->exec, 1), 1);
}

/* --- segments --- */

static void test_segments_are_recorded_once_and_played(void **state)
{
    rig *r = *state;
    bool records = r->backend->recorder->is_wanted(NULL);
    run(r, 0);
    int once = device.n_played;
    assert_true(records ? once > 1 && once < graph_n_nodes(r->model.graph) : once == 0);
    run(r, 0);
    assert_int_equal(device.n_played, 2 * once);
}

/* --- traces --- */

typedef struct node_span {
    int32_t node;
    int64_t begin_ns, end_ns;
} node_span;

typedef struct traced_run {
    int64_t ran_ns[EVENTS]; /* [node] when its kernel really ran */
    node_span told[EVENTS], whole;
    int n, n_whole;
    int64_t error_ns;
} traced_run;

static void note_when(void *user, int32_t node, void *const *addresses, void *workspace)
{
    (void)addresses, (void)workspace;
    ((traced_run *)user)->ran_ns[node] = clock_ns();
}

static void told_node(void *user, int32_t node, int64_t begin_ns, int64_t end_ns)
{
    traced_run *t = user;
    t->told[t->n++] = (node_span){node, begin_ns, end_ns};
}

static void told_device(void *user, int64_t begin_ns, int64_t end_ns, int64_t error_ns)
{
    traced_run *t = user;
    t->n_whole++;
    t->whole = (node_span){0, begin_ns, end_ns};
    t->error_ns = error_ns;
}

/* The device's clock is another; where its nodes are placed, their kernels ran, as precisely as is told. */
static void check_placed(const traced_run *t, int32_t n_nodes, int64_t begin_ns, int64_t end_ns)
{
    assert_int_equal(t->n, n_nodes);
    for (int32_t i = 0; i < n_nodes; i++) {
        const node_span *s = &t->told[i];
        assert_int_equal(s->node, i);
        assert_true(s->begin_ns <= s->end_ns && s->begin_ns >= (i ? s[-1].end_ns : begin_ns));
        assert_in_range(t->ran_ns[i], s->begin_ns - t->error_ns, s->end_ns + t->error_ns);
    }
    assert_true(t->told[n_nodes - 1].end_ns <= end_ns);
    assert_true(t->n_whole == 1 && t->whole.begin_ns == t->told[0].begin_ns);
    assert_true(t->whole.end_ns == t->told[n_nodes - 1].end_ns);
}

static void make_it_trace(rig *r)
{
    error err = ERROR_INIT;
    exec_destroy(&r->exec);
    r->traces = true;
    must(rig_create(r, r->model.graph, r->small.graph, r->flat, &err), &err);
    exec_bind_params(r->exec, r->params);
}

static void test_a_traced_run_tells_when_its_nodes_ran(void **state)
{
    rig *r = *state;
    make_it_trace(r);
    for (int turn = 0; turn < 4; turn++) {
        error err = ERROR_INIT;
        static traced_run t;
        const exec_trace trace = {.device_node = told_node, .device = told_device, .user = &t};
        const exec_hooks hooks = {.trace = turn % 2 ? &trace : NULL};
        const graph *g = turn < 2 ? r->model.graph : r->small.graph;
        int stamps = device.n_stamps;
        t = (traced_run){.n = 0};
        stub.ran = note_when;
        stub.user = &t;
        int64_t begin = clock_ns();
        must(exec_run(r->exec, turn / 2, &hooks, &err), &err);
        if (turn % 2)
            check_placed(&t, graph_n_nodes(g), begin, clock_ns());
        assert_int_equal(device.n_stamps - stamps, turn % 2 ? 2 * graph_n_nodes(g) + 2 : 0);
        assert_true(device_is_idle());
    }
}

/* After one that came to nothing too. */
static void test_a_traced_run_that_fails_tells_nothing(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    static traced_run t;
    const exec_trace trace = {.device_node = told_node, .device = told_device, .user = &t};
    make_it_trace(r);
    t = (traced_run){.n = 0};
    r->ready_status = E_TIMEOUT;
    r->hooks.trace = &trace;
    assert_int_equal(exec_run(r->exec, 0, &r->hooks, &err), E_TIMEOUT);
    assert_true(t.n == 0 && t.n_whole == 0);
    r->ready_status = OK;
    r->n_events = 0;
    must(exec_run(r->exec, 0, &r->hooks, &err), &err);
    assert_true(t.n == graph_n_nodes(r->model.graph) && t.n_whole == 1);
}

static void test_a_device_without_stopwatches_cannot_trace(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    exec_destroy(&r->exec);
    device.no_stopwatches = r->traces = true;
    assert_int_equal(rig_create(r, r->model.graph, r->small.graph, r->flat, &err), E_NOMEM);
    assert_string_equal(err.text, "nodes cannot be timed: no stopwatches left");
}

/* --- which parts go up --- */

typedef struct board {
    rig *rig;
    int64_t editions[64];
} board;

static status need_edition(void *user, int32_t part, int64_t *ret_edition, error *err)
{
    (void)err;
    board *b = user;
    rig *r = b->rig;
    r->params[r->flat->parts[part].begin] = (float)(1000 * part + b->editions[part]);
    *ret_edition = b->editions[part];
    return OK;
}

/* The copies up beyond the inputs; every part that is read is then on the device as it is here. */
static int parts_sent(board *b, const exec_hooks *hooks)
{
    rig *r = b->rig;
    error err = ERROR_INIT;
    int before = device.n_copies[QUEUE_UP];
    must(exec_run(r->exec, 0, hooks, &err), &err);
    for (int32_t t = 0; t < r->flat->n_tensors; t++) {
        const float *there = r->addresses[graph_find(r->model.graph, r->flat->tensors[t].name)];
        if (!there || strcmp(r->flat->tensors[t].name, "spare") == 0)
            continue;
        assert_memory_equal(there, r->params + r->flat->offset[t],
                            (size_t)r->flat->count[t] * sizeof(float));
    }
    const int n_inputs = 2;
    return device.n_copies[QUEUE_UP] - before - n_inputs;
}

static void test_a_part_goes_up_when_its_edition_changes(void **state)
{
    rig *r = *state;
    board b = {.rig = r};
    exec_hooks hooks = {.need = need_edition, .user = &b};
    assert_true(r->flat->n_parts <= 64);
    run(r, 0);
    int32_t n_read = 0, one = -1;
    for (int32_t p = 0; p < r->flat->n_parts; p++)
        if (find_event(r, NEED, p) >= 0) {
            n_read++;
            one = p;
        }
    exec_bind_params(r->exec, r->params);
    assert_int_equal(parts_sent(&b, &hooks), n_read);
    assert_int_equal(parts_sent(&b, &hooks), 0);
    b.editions[one] = 7;
    assert_int_equal(parts_sent(&b, &hooks), 1);
    assert_int_equal(parts_sent(&b, &hooks), 0);
    exec_bind_params(r->exec, r->params);
    assert_int_equal(parts_sent(&b, &hooks), n_read);
    assert_int_equal(parts_sent(&b, NULL), n_read);
    assert_int_equal(parts_sent(&b, &hooks), n_read);
}

static void test_weights_are_pinned_while_they_are_bound(void **state)
{
    rig *r = *state;
    float *other = xcalloc((size_t)r->flat->n_elements, sizeof *other);
    assert_ptr_equal(device.pinned, r->params);
    exec_bind_params(r->exec, r->params);
    assert_ptr_equal(device.pinned, r->params);
    exec_bind_params(r->exec, other);
    assert_ptr_equal(device.pinned, other);
    device.pin_fails = true;
    exec_bind_params(r->exec, r->params);
    assert_null(device.pinned);
    run(r, 0);
    device.pin_fails = false;
    exec_bind_params(r->exec, other);
    exec_destroy(&r->exec);
    assert_null(device.pinned);
    free(other);
}

/* --- runs that do not end well --- */

static void run_again(rig *r)
{
    r->n_events = 0;
    atomic_store(&r->cancel, false);
    r->cancel_at = STUB_NEVER;
    r->ready_status = OK;
    run(r, 0);
    assert_int_not_equal(find_event(r, READY, r->flat->n_live_parts - 1), -1);
    assert_true(device_is_idle());
}

static void test_a_cancelled_run_leaves_nothing_in_the_queues(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    device.keen = true;
    r->cancel_at = 2;
    status st = exec_run(r->exec, 0, &r->hooks, &err);
    if (st == OK) { /* the device came to node 2 when all was given */
        atomic_store(&r->cancel, true);
        st = exec_run(r->exec, 0, &r->hooks, &err);
    }
    assert_int_equal(st, E_LOST);
    assert_string_equal(err.text, "cancelled");
    assert_true(device_is_idle());
    run_again(r);
}

static void test_a_hooks_error_comes_as_it_is(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    r->ready_status = E_TIMEOUT;
    assert_int_equal(exec_run(r->exec, 0, &r->hooks, &err), E_TIMEOUT);
    assert_string_equal(err.text, "the server is gone");
    assert_true(device_is_idle());
    run_again(r);
}

static void test_a_failure_of_the_device_comes_out_of_the_run(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    device.wait_fails = 1;
    assert_int_equal(exec_run(r->exec, 0, &r->hooks, &err), E_DEVICE);
    assert_string_equal(err.text, "the stub fails");
    run_again(r);
}

static void fail_at_two(void *user, int32_t node, void *const *addresses, void *workspace)
{
    (void)user, (void)addresses, (void)workspace;
    if (node == 2)
        device_fault(node);
}

static void test_parts_that_come_of_bad_data_are_not_handed_over(void **state)
{
    rig *r = *state;
    for (int keen = 0; keen < 2; keen++) {
        error err = ERROR_INIT;
        void (*ran)(void *, int32_t, void *const *, void *) = stub.ran;
        device.keen = keen;
        stub.ran = fail_at_two;
        r->n_events = 0;
        assert_int_equal(exec_run(r->exec, 0, &r->hooks, &err), E_DATA);
        assert_string_equal(err.text, "node 2: not on the map");
        for (size_t i = 0; i < r->n_events; i++)
            assert_int_not_equal(r->events[i].kind, READY);
        stub.ran = ran;
        run_again(r);
    }
}

/* Nobody waits for a part here. */
static void test_bad_data_fail_a_run_without_parts_too(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    model forward = make_model(2, false);
    exec_destroy(&r->exec);
    must(rig_create(r, forward.graph, NULL, r->flat, &err), &err);
    exec_bind_params(r->exec, r->params);
    stub.ran = fail_at_two;
    assert_int_equal(exec_run(r->exec, 0, NULL, &err), E_DATA);
    exec_destroy(&r->exec);
    graph_destroy(&forward.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_DEVICES(test_parts_are_needed_before_and_ready_after_all_that_touch_them),
        OVER_DEVICES(test_a_keen_device_has_parts_handed_over_on_the_way),
        OVER_DEVICES(test_what_is_ready_is_on_the_host_and_so_is_the_loss),
        OVER_DEVICES(test_kernels_find_inputs_and_constants),
        OVER_DEVICES(test_only_whole_nodes_of_the_tree_come_down),
        OVER_DEVICES(test_sums_are_as_high_as_there_is_memory_for),
        OVER_DEVICES(test_segments_are_recorded_once_and_played),
        OVER_DEVICES(test_a_traced_run_tells_when_its_nodes_ran),
        OVER_DEVICES(test_a_traced_run_that_fails_tells_nothing),
        OVER_DEVICES(test_a_device_without_stopwatches_cannot_trace),
        OVER_DEVICES(test_a_part_goes_up_when_its_edition_changes),
        OVER_DEVICES(test_weights_are_pinned_while_they_are_bound),
        OVER_DEVICES(test_a_cancelled_run_leaves_nothing_in_the_queues),
        OVER_DEVICES(test_a_hooks_error_comes_as_it_is),
        OVER_DEVICES(test_parts_that_come_of_bad_data_are_not_handed_over),
        OVER_DEVICES(test_bad_data_fail_a_run_without_parts_too),
        OVER_DEVICES(test_a_failure_of_the_device_comes_out_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
