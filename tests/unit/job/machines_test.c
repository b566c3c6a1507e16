/* The tables of machines and GPUs: one rule gives all cells; what is refused names what would be
 * right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/spec/machines.h"

#include <string.h>

/* machines.csv is a transcript of a published table, limits.csv of another: so many GPUs go with a
 * machine if their limit is not below what the machine has. A2 machines are a rule of their own. */
static void the_limits_give_the_table(void **state)
{
    (void)state;
    const machines *all = machines_all();
    int cells = 0;
    for (int i = 0; i < all->n_machines; i++) {
        const machine *m = &all->machine[i];
        if (m->is_legacy || m->built_in)
            continue;
        uint32_t counts[GPU_TYPES] = {0};
        for (int k = 0; k < all->n_limits; k++) {
            const gpu_limit *l = &all->limit[k];
            if (l->vcpus >= m->vcpus && l->memory_gb >= m->memory_gb)
                counts[l->type] |= UINT32_C(1) << l->count;
        }
        for (int t = 0; t < GPU_TYPES; t++) {
            if (counts[t] != m->counts[t])
                fail_msg("%s with %s: %#x by the limits, %#x in the table", m->name, all->gpu[t],
                         counts[t], m->counts[t]);
            cells += strcmp(all->gpu[t], "NVIDIA_TESLA_A100") != 0;
        }
    }
    assert_int_equal(cells, 85);
}

static void legacy_types_have_their_equivalents(void **state)
{
    (void)state;
    const machine *m = machine_find("complex_model_m_gpu");
    assert_true(m->is_legacy);
    assert_string_equal(m->equivalent, "n1-standard-16-k80x4");
    assert_int_equal(m->built_in, 4);
    assert_string_equal(machines_all()->gpu[m->built_in_type], "NVIDIA_TESLA_K80");
    assert_int_equal(machine_find("large_model")->built_in_type, -1);
    assert_int_equal(machine_find("complex_model_l_gpu")->built_in, 8);
    assert_null(machine_find("cloud_tpu"));
}

static void regions_offer_gpus(void **state)
{
    (void)state;
    int t4 = gpu_type_find("NVIDIA_TESLA_T4"), a100 = gpu_type_find("NVIDIA_TESLA_A100");
    assert_int_equal(machines_all()->n_regions, 43);
    assert_int_equal(region_find("us-central1")->gpus[t4], OFFER_YES);
    assert_int_equal(region_find("us-west2")->gpus[t4], OFFER_NO);
    assert_int_equal(region_find("us-west2")->gpus[a100], OFFER_UNKNOWN);
    assert_int_equal(region_find("europe-north1")->gpus[t4], OFFER_UNKNOWN);
    assert_null(region_find("mars-north1"));
}

static void tiers_stand_for_machines(void **state)
{
    (void)state;
    const tier *t = tier_find("PREMIUM_1");
    assert_string_equal(t->flag, "premium-1");
    assert_string_equal(t->master_type, "n1-highcpu-16");
    assert_int_equal(t->workers, 19);
    assert_int_equal(t->ps, 11);
    assert_int_equal(t->gpu_type, -1);
    assert_int_equal(tier_find("BASIC_GPU")->gpus, 1);
    assert_null(tier_find("CUSTOM"));
}

static void refusals_say_what_is_possible(void **state)
{
    (void)state;
    static const struct {
        const char *machine, *gpu;
        int64_t count;
        const char *text;
    } cases[] = {
        {"n1-highcpu-64", "NVIDIA_TESLA_P100", 4, NULL},
        {"n1-standard-32", "NVIDIA_TESLA_V100", 4, NULL},
        {"n1-standard-8", "NVIDIA_TESLA_T4", 3,
         "3 × NVIDIA_TESLA_T4 is not possible on n1-standard-8 (8 vCPUs, 30 GB); possible there: 1, "
         "2, 4"},
        {"n1-highcpu-96", "NVIDIA_TESLA_K80", 8,
         "8 × NVIDIA_TESLA_K80 is not possible on n1-highcpu-96 (96 vCPUs, 86.4 GB); possible on "
         "that machine: NVIDIA_TESLA_P4 4; NVIDIA_TESLA_T4 4; NVIDIA_TESLA_V100 8; 8 × "
         "NVIDIA_TESLA_K80 go with at most 64 vCPUs and 208 GB"},
        {"n1-standard-4", "NVIDIA_TESLA_T4", 100,
         "100 × NVIDIA_TESLA_T4 is not possible on n1-standard-4 (4 vCPUs, 15 GB); possible there: "
         "1, 2, 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        error err = ERROR_INIT;
        status st = machine_check(machine_find(cases[i].machine), gpu_type_find(cases[i].gpu),
                                  cases[i].count, &err);
        assert_int_equal(st, cases[i].text ? E_CONFIG : OK);
        assert_string_equal(err.text, cases[i].text ? cases[i].text : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limits_give_the_table),
        cmocka_unit_test(legacy_types_have_their_equivalents),
        cmocka_unit_test(regions_offer_gpus),
        cmocka_unit_test(tiers_stand_for_machines),
        cmocka_unit_test(refusals_say_what_is_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
