#include "backend/cpu/dnnl/state.h"

/* oneDNN exports it, but none of its headers declares it. */
dnnl_status_t dnnl_gemm_bf16bf16f32(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n,
                                    dnnl_dim_t k, float alpha, const uint16_t *a, dnnl_dim_t lda,
                                    const uint16_t *b, dnnl_dim_t ldb, float beta, float *c,
                                    dnnl_dim_t ldc);

static bool has(dnnl_cpu_isa_t isa)
{
    return ((unsigned)dnnl_get_effective_cpu_isa() & (unsigned)isa) == (unsigned)isa;
}

/* Without the instructions oneDNN multiplies bfloat16 at a quarter of float32's speed. Processors
 * that came with AVX-512 FP16 too are fast by their AMX tiles; where a virtual machine hides those
 * what is left takes twice float32's time. */
bool shim_gains_by_bf16(void)
{
    return has(dnnl_cpu_isa_avx512_core_bf16) &&
           (has(dnnl_cpu_isa_avx512_core_amx) || !has(dnnl_cpu_isa_avx512_core_fp16));
}

status shim_gemm(int64_t m, int64_t n, int64_t k, float alpha, shim_matrix a, shim_matrix b,
                 float beta, float *c, int64_t c_stride, error *err)
{
    if (k == 0) { /* a sum of nothing */
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                c[i * c_stride + j] = beta == 0.0f ? 0.0f : beta * c[i * c_stride + j];
        return OK;
    }
    if (m == 0 || n == 0)
        return OK;
    char ta = a.transposed ? 'T' : 'N', tb = b.transposed ? 'T' : 'N';
    dnnl_status_t st = a.bf16 ? dnnl_gemm_bf16bf16f32(ta, tb, m, n, k, alpha, a.data, a.stride,
                                                      b.data, b.stride, beta, c, c_stride)
                              : dnnl_sgemm(ta, tb, m, n, k, alpha, a.data, a.stride, b.data,
                                           b.stride, beta, c, c_stride);
    return shim_check(st, "matrix product", err);
}
