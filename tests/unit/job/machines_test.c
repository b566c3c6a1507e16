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
 * machine of the N1 family if their limit is not below what the machine has. */
static void the_limits_give_the_table(void **state)
{
    (void)state;
    const machines *all = machines_all();
    int n = 0;
    for (int i = 0; i < all->n_machines; i++) {
        const machine *m = &all->machine[i];
        if (strncmp(m->name, "n1-", 3) != 0)
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
        }
        n++;
    }
    assert_int_equal(n, 17);
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

/* What Vertex AI names for training, but its TPUs. */
static void machines_of_vertex_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double vcpus, memory_gb;
        const char *gpu;
        int gpus;
    } rows[] = {
        {"a4x-highgpu-4g", 140, 884, "NVIDIA_GB200", 4},
        {"a4-highgpu-8g", 224, 3968, "NVIDIA_B200", 8},
        {"a3-ultragpu-8g", 224, 2952, "NVIDIA_H200_141GB", 8},
        {"a3-megagpu-8g", 208, 1872, "NVIDIA_H100_MEGA_80GB", 8},
        {"a3-highgpu-1g", 26, 234, "NVIDIA_H100_80GB", 1},
        {"a3-highgpu-8g", 208, 1872, "NVIDIA_H100_80GB", 8},
        {"a2-ultragpu-4g", 48, 680, "NVIDIA_A100_80GB", 4},
        {"a2-highgpu-4g", 48, 340, "NVIDIA_TESLA_A100", 4},
        {"a2-megagpu-16g", 96, 1360, "NVIDIA_TESLA_A100", 16},
        {"g2-standard-24", 24, 96, "NVIDIA_L4", 2},
        {"g2-standard-32", 32, 128, "NVIDIA_L4", 1},
        {"g4-standard-384", 384, 1440, "NVIDIA_RTX_PRO_6000", 8},
        {"e2-highcpu-32", 32, 32, NULL, 0},
        {"n2-highmem-80", 80, 640, NULL, 0},
        {"n2-highmem-128", 128, 864, NULL, 0},
        {"n4-standard-48", 48, 192, NULL, 0},
        {"c2-standard-30", 30, 120, NULL, 0},
        {"m1-megamem-96", 96, 1433.6, NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const machine *m = machine_find(rows[i].name);
        assert_non_null(m);
        assert_true(m->vcpus == rows[i].vcpus && m->memory_gb == rows[i].memory_gb);
        assert_int_equal(m->built_in, rows[i].gpus);
        assert_int_equal(m->built_in_type, rows[i].gpu ? gpu_type_find(rows[i].gpu) : -1);
    }
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
        {"a3-highgpu-8g", "NVIDIA_H100_80GB", 8, NULL},
        {"g2-standard-24", "NVIDIA_L4", 4,
         "g2-standard-24 comes with 2 × NVIDIA_L4, no others and no more or fewer"},
        {"n1-standard-8", "NVIDIA_H200_141GB", 1,
         "1 × NVIDIA_H200_141GB is not possible on n1-standard-8 (8 vCPUs, 30 GB); possible on that "
         "machine: NVIDIA_TESLA_K80 1, 2, 4, 8; NVIDIA_TESLA_P4 1, 2, 4; NVIDIA_TESLA_P100 1, 2, 4; "
         "NVIDIA_TESLA_T4 1, 2, 4; NVIDIA_TESLA_V100 1, 2, 4, 8; it is built into a3-ultragpu-8g"},
        {"e2-standard-8", "NVIDIA_TESLA_T4", 1,
         "1 × NVIDIA_TESLA_T4 is not possible on e2-standard-8 (8 vCPUs, 32 GB); 1 × NVIDIA_TESLA_T4 go "
         "with machines of the N1 family with at most 24 vCPUs and 156 GB"},
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
        cmocka_unit_test(machines_of_vertex_are_known),
        cmocka_unit_test(regions_offer_gpus),
        cmocka_unit_test(tiers_stand_for_machines),
        cmocka_unit_test(refusals_say_what_is_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
