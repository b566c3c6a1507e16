/* The text of --fault: what each clause means, and what is said of one that means nothing. */
#include "common/fault/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static fault_plan *plan_of(const char *text)
{
    fault_plan *p = NULL;
    error err = ERROR_INIT;
    if (fault_plan_parse(text, &p, &err) != OK)
        fail_msg("'%s': %s", text, err.text);
    return p;
}

static void refuses(const char *text, const char *why)
{
    fault_plan *p = NULL;
    error err = ERROR_INIT;
    assert_int_equal(fault_plan_parse(text, &p, &err), E_USAGE);
    assert_null(p);
    assert_string_equal(err.text, why);
}

static void test_kills(void **state)
{
    (void)state;
    fault_plan *p = plan_of("kill=worker.1@push:40,kill=ps.0#2@pushed>:1,kill=chief.0@cut_done<:7,"
                            "kill=evaluator.0@1.5s");
    assert_int_equal(p->n, 4);
    assert_int_equal(p->seed, 1);
    const fault_clause *c = p->clauses;
    for (size_t i = 0; i < p->n; i++)
        assert_int_equal(c[i].kind, FAULT_KILL);
    assert_int_equal(c[0].task.role, ROLE_WORKER);
    assert_int_equal(c[0].task.index, 1);
    assert_int_equal(c[0].life, 1);
    assert_int_equal(c[0].message, WIRE_PUSH);
    assert_int_equal(c[0].number, 40);
    assert_true(c[0].sent && c[0].received);
    assert_string_equal(c[0].text, "kill=worker.1@push:40");
    assert_int_equal(c[1].life, 2);
    assert_true(c[1].sent && !c[1].received);
    assert_int_equal(c[2].task.role, ROLE_MASTER);
    assert_int_equal(c[2].message, WIRE_CUT_DONE);
    assert_true(!c[2].sent && c[2].received);
    assert_int_equal(c[3].message, 0);
    assert_int_equal(c[3].at_us, 1500000);
    fault_plan_destroy(&p);
    assert_null(p);
}

static void test_the_others(void **state)
{
    (void)state;
    fault_plan *p = plan_of("seed=7,drop=ps.0:2%,drop=ps.1:0.5%,delay=worker.0#3:50ms,"
                            "freeze=ps.1@push:40:8s,freeze=ps.1@2s:250ms");
    const fault_clause *c = p->clauses;
    assert_int_equal(p->n, 5);
    assert_int_equal(p->seed, 7);
    assert_int_equal(c[0].kind, FAULT_DROP);
    assert_int_equal(c[0].life, 0);
    assert_true(fabs(c[0].share - 0.02) <= 1e-9);
    assert_true(fabs(c[1].share - 0.005) <= 1e-9);
    assert_int_equal(c[2].kind, FAULT_DELAY);
    assert_int_equal(c[2].life, 3);
    assert_int_equal(c[2].length_us, 50000);
    assert_int_equal(c[3].kind, FAULT_FREEZE);
    assert_int_equal(c[3].message, WIRE_PUSH);
    assert_int_equal(c[3].number, 40);
    assert_int_equal(c[3].length_us, 8000000);
    assert_int_equal(c[4].at_us, 2000000);
    assert_int_equal(c[4].length_us, 250000);
    fault_plan_destroy(&p);
}

/* A freeze without a moment gets one, from the seed and for each clause another. */
static void test_moments_are_drawn(void **state)
{
    (void)state;
    static const char text[] = "seed=7,freeze=ps.0:1s,freeze=ps.0:1s";
    fault_plan *p = plan_of(text), *again = plan_of(text);
    fault_plan *other = plan_of("seed=8,freeze=ps.0:1s,freeze=ps.0:1s");
    assert_int_equal(p->clauses[0].at_us, again->clauses[0].at_us);
    assert_int_not_equal(p->clauses[0].at_us, p->clauses[1].at_us);
    assert_int_not_equal(p->clauses[0].at_us, other->clauses[0].at_us);
    assert_in_range(p->clauses[0].at_us, 0, 5000000);
    fault_plan_destroy(&p);
    fault_plan_destroy(&again);
    fault_plan_destroy(&other);
}

static void test_whom_a_clause_concerns(void **state)
{
    (void)state;
    fault_plan *p = plan_of("kill=worker.1@3s,drop=worker.1:2%");
    task one = {ROLE_WORKER, 1}, other = {ROLE_WORKER, 0}, server = {ROLE_PS, 1};
    assert_true(fault_concerns(&p->clauses[0], one, 1));
    assert_false(fault_concerns(&p->clauses[0], one, 2)); /* killed once, not again */
    assert_true(fault_concerns(&p->clauses[1], one, 1));
    assert_true(fault_concerns(&p->clauses[1], one, 2));
    assert_false(fault_concerns(&p->clauses[1], other, 1));
    assert_false(fault_concerns(&p->clauses[1], server, 1));
    fault_plan_destroy(&p);
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("", "'': expected kill=TASK@WHEN, freeze=TASK:TIME, delay=TASK:TIME, drop=TASK:P% or "
                "seed=N");
    refuses("slay=worker.1@3s", "'slay=worker.1@3s': expected kill=TASK@WHEN, freeze=TASK:TIME, "
                                "delay=TASK:TIME, drop=TASK:P% or seed=N");
    refuses("drop=ps.0:2%,kill=worker.1",
            "'kill=worker.1': when? Say it as in kill=worker.1@push:40 or kill=worker.1@3s");
    refuses("kill=worker.1@puhs:40",
            "'kill=worker.1@puhs:40': no message is called 'puhs'; did you mean 'push'?");
    refuses("kill=worker.1@40", "'kill=worker.1@40': '40' is neither a time (3s, 250ms) nor a "
                                "message (as in push:40, pull>:1)");
    refuses("kill=worker.1@push", "'kill=worker.1@push': which push? Give its number from 1, as in "
                                  "push:1");
    refuses("kill=worker.1@push:0", "'kill=worker.1@push:0': which push? Give its number from 1, "
                                    "as in push:1");
    refuses("kill=worker.1@push<:1", "'kill=worker.1@push<:1': a worker never receives push");
    refuses("kill=ps.1@lease:1", "'kill=ps.1@lease:1': a ps neither sends nor receives lease");
    refuses("kill=evaluator.0@push:1", "'kill=evaluator.0@push:1': an evaluator neither sends nor "
                                       "receives messages; name a time, as in @3s");
    refuses("kill=mayor.0@3s", "'kill=mayor.0@3s': 'mayor.0' is no task; name one as master.0, "
                               "worker.1, ps.0 or evaluator.0");
    refuses("kill=worker@3s", "'kill=worker@3s': 'worker' is no task; name one as master.0, "
                              "worker.1, ps.0 or evaluator.0");
    refuses("kill=worker.1#0@3s", "'kill=worker.1#0@3s': the life '#0' must be a number from 1");
    refuses("freeze=ps.0", "'freeze=ps.0': for how long? Give a time at its end, as in ':8s'");
    refuses("delay=ps.0:50",
            "'delay=ps.0:50': for how long? Give a time at its end, as in ':50ms'");
    refuses("delay=ps.0@3s:50ms", "'delay=ps.0@3s:50ms': a delay has no moment; leave out '@3s'");
    refuses("drop=ps.0:2", "'drop=ps.0:2': which share of the messages? Give it up to 100%, as in "
                           "drop=ps.0:2%");
    refuses("drop=ps.0:200%", "'drop=ps.0:200%': which share of the messages? Give it up to 100%, "
                              "as in drop=ps.0:2%");
    refuses("seed=-1", "'seed=-1': the seed must be a whole number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kills),
        cmocka_unit_test(test_the_others),
        cmocka_unit_test(test_moments_are_drawn),
        cmocka_unit_test(test_whom_a_clause_concerns),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
