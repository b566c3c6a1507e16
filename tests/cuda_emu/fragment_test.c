/*
 * Which number of a matrix a register holds, against the words of NVIDIA's "PTX ISA" 9.0: its
 * sections "Matrix Fragments for mma.m16n8k8", "... for mma.m16n8k16 with floating point type",
 * "ldmatrix" and "cvt". The formulas are written as they stand there, element by element; kernels
 * and emulation go by registers. CUTLASS has the same layouts
 * (include/cute/atom/mma_traits_sm80.hpp).
 */
#include "cuda_emu/kernel_test.h"

#include "cuda_emu/machine.h"
#include "cuda_emu/scenes.h"

#include <math.h>
#include <string.h>

typedef struct place {
    int row, column;
} place;

/* Element a_i, b_i or c_i of the thread that is `t` in group `g`. */
typedef place element(int g, int t, int i);

static place a_of_k16(int g, int t, int i)
{
    return (place){i < 2 || (4 <= i && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
static place b_of_k16(int g, int t, int i)
{
    return (place){t * 2 + (i & 1) + (i < 2 ? 0 : 8), g};
}
static place a_of_k8(int g, int t, int i)
{
    return (place){i == 0 || i == 1 ? g : g + 8, t * 2 + (i & 1)};
}
static place b_of_k8(int g, int t, int i)
{
    return (place){t * 2 + i, g};
}
static place a_of_tf32(int g, int t, int i)
{
    return (place){i == 0 || i == 2 ? g : g + 8, i == 0 || i == 1 ? t : t + 4};
}
static place b_of_tf32(int g, int t, int i)
{
    return (place){i == 0 ? t : t + 4, g};
}
static place c_of_any(int g, int t, int i)
{
    return (place){i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

static const struct matmul {
    const char *name;
    uint32_t one; /* in the factors' type */
    int k, a_elements, b_elements, in_a_register;
    element *a, *b;
} matmuls[] = {
    [MATMUL_BF16] = {"bf16", 0x3f80, 16, 8, 4, 2, a_of_k16, b_of_k16},
    [MATMUL_F16] = {"f16", 0x3c00, 16, 8, 4, 2, a_of_k16, b_of_k16},
    [MATMUL_F16_8] = {"f16, 8 deep", 0x3c00, 8, 4, 2, 2, a_of_k8, b_of_k8},
    [MATMUL_TF32] = {"tf32", 0x3f800000, 8, 4, 2, 1, a_of_tf32, b_of_tf32},
};

/* Puts a 1 into the register of the lane that has this place; the lower element in the lower bits.
 */
static void set_one(const struct matmul *p, uint32_t *words, int registers, element *of, int n,
                    place at)
{
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < n; i++) {
            place e = of(lane >> 2, lane % 4, i);
            if (e.row == at.row && e.column == at.column)
                words[lane * registers + i / p->in_a_register] |= p->one
                                                                  << (i % p->in_a_register * 16);
        }
}

/* A 1 at (m, k) times a 1 at (k, n) is a 1 at (m, n), on top of what was there. */
static void check_matmul(matmul_how how, int m, int n, int k)
{
    const struct matmul *p = &matmuls[how];
    uint32_t a[32 * 4] = {0}, b[32 * 2] = {0};
    float d[32 * 4];
    set_one(p, a, 4, p->a, p->a_elements, (place){m, k});
    set_one(p, b, 2, p->b, p->b_elements, (place){k, n});
    for (int i = 0; i < 128; i++)
        d[i] = (float)i;
    float *to = on_device(d, sizeof d);
    scene_matmul(kernel_test_stream(), to, on_device(a, sizeof a), on_device(b, sizeof b), how);
    from_device(d, to, sizeof d);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            place e = c_of_any(lane >> 2, lane % 4, i);
            float want = (float)(4 * lane + i) + (e.row == m && e.column == n ? 1.0f : 0.0f);
            if (d[4 * lane + i] != want)
                fail_msg("%s: (%d, %d) times (%d, %d) makes %g of d%d of lane %d", p->name, m, k, k,
                         n, (double)d[4 * lane + i], i, lane);
        }
    device_clear();
}

static void matmuls_take_fragments_as_ptx_has_them(void **state)
{
    (void)state;
    for (int how = MATMUL_BF16; how <= MATMUL_TF32; how++)
        for (int k = 0; k < matmuls[how].k; k++)
            for (int m = 0; m < 16; m++)
                check_matmul((matmul_how)how, m, (m * 3 + k) % 8, k);
}

static void every_place_has_one_register(void **state)
{
    (void)state;
    for (int how = MATMUL_BF16; how <= MATMUL_TF32; how++) {
        const struct matmul *p = &matmuls[how];
        int a_seen[16 * 16] = {0}, b_seen[16 * 8] = {0};
        for (int lane = 0; lane < 32; lane++) {
            for (int i = 0; i < p->a_elements; i++) {
                place e = p->a(lane >> 2, lane % 4, i);
                a_seen[e.row * p->k + e.column]++;
            }
            for (int i = 0; i < p->b_elements; i++) {
                place e = p->b(lane >> 2, lane % 4, i);
                b_seen[e.row * 8 + e.column]++;
            }
        }
        for (int i = 0; i < 16 * p->k; i++)
            assert_int_equal(a_seen[i], 1);
        for (int i = 0; i < 8 * p->k; i++)
            assert_int_equal(b_seen[i], 1);
    }
}

/* Threads 8 m .. 8 m + 7 say where the rows of matrix m lie. Thread i gets of each matrix, in one
 * register, elements i % 4 * 2 and the next of row i / 4; with .trans of column i / 4. */
static void matrices_load_as_ptx_has_it(void **state)
{
    (void)state;
    uint16_t x[32][8];
    uint32_t y[32][4], *to = device_alloc(sizeof y);
    for (int i = 0; i < 32 * 8; i++)
        x[i / 8][i % 8] = (uint16_t)(1000 + i);
    for (int transposed = 0; transposed < 2; transposed++) {
        scene_load(kernel_test_stream(), to, on_device(x, sizeof x), transposed);
        from_device(y, to, sizeof y);
        for (int i = 0; i < 32; i++)
            for (int m = 0; m < 4; m++) {
                const uint16_t(*matrix)[8] = &x[8 * m];
                int row = i / 4, column = i % 4 * 2;
                uint32_t low = transposed ? matrix[column][row] : matrix[row][column];
                uint32_t high = transposed ? matrix[column + 1][row] : matrix[row][column + 1];
                assert_int_equal(y[i][m], low | high << 16);
            }
    }
}

/* .rna: to nearest, ties away from zero; of 24 significant bits 11 stay. */
static void factors_are_rounded_to_tf32(void **state)
{
    (void)state;
    const float x[] = {1.0f,       0x1.002p0f,   0x1.001ffep0f, -0x1.002p0f, 0x1.006p0f,
                       0x1.ffcp0f, 0x1.ffep127f, 0x1p-149f,     -0.0f,       INFINITY};
    const float want[] = {1.0f,       0x1.004p0f, 1.0f, -0x1.004p0f, 0x1.008p0f,
                          0x1.ffcp0f, INFINITY,   0,    -0.0f,       INFINITY};
    enum { N = sizeof x / sizeof *x };
    uint32_t y[N], *to = device_alloc(sizeof y);
    scene_tf32(kernel_test_stream(), to, on_device(x, sizeof x), N);
    from_device(y, to, sizeof y);
    for (int i = 0; i < N; i++) {
        uint32_t bits;
        memcpy(&bits, &want[i], sizeof bits);
        if (y[i] != bits)
            fail_msg("%a becomes %08x, not %08x", (double)x[i], y[i], bits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(matmuls_take_fragments_as_ptx_has_them),
        KERNEL_TEST(every_place_has_one_register),
        KERNEL_TEST(matrices_load_as_ptx_has_it),
        KERNEL_TEST(factors_are_rounded_to_tf32),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
