#include "backend/cpu/dnnl/state.h"

/* oneDNN exports it, but none of its headers declares it. */
dnnl_status_t dnnl_gemm_bf16bf16f32(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n,
                                    dnnl_dim_t k, float alpha, const uint16_t *a, dnnl_dim_t lda,
                                    const uint16_t *b, dnnl_dim_t ldb, float beta, float *c,
                                    dnnl_dim_t ldc);

static bool has(dnnl_cpu_isa_t isa)
{
    return (shim_x86_isa() & (unsigned)isa) == (unsigned)isa;
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

/* [rows, columns] of a factor, whose own rows are columns where it is transposed */
static status describe_factor(int64_t rows, int64_t columns, shim_matrix f,
                              dnnl_memory_desc_t *ret, error *err)
{
    dnnl_dims_t dims = {rows, columns}, strides = {f.stride, 1};
    if (f.transposed) {
        strides[0] = 1;
        strides[1] = f.stride;
    }
    return shim_check(dnnl_memory_desc_create_with_strides(ret, 2, dims, dnnl_f32, strides),
                      "layout", err);
}

status shim_matmul(shim *s, int64_t m, int64_t n, int64_t k, shim_matrix a, shim_matrix b,
                   shim_primitive **ret, error *err)
{
    dnnl_memory_desc_t left = NULL, right = NULL, made = NULL;
    dnnl_primitive_desc_t desc;
    status st;
    TRY_OUT(st, describe_factor(m, k, a, &left, err));
    TRY_OUT(st, describe_factor(k, n, b, &right, err));
    TRY_OUT(st, describe_factor(m, n, (shim_matrix){.stride = n}, &made, err));
    TRY_OUT(st, shim_check(dnnl_matmul_primitive_desc_create(&desc, s->engine, left, right, NULL,
                                                             made, s->attr),
                           "matrix product", err));
    st = shim_primitive_new(s, desc, "matrix product", ret, err);
out:
    dnnl_memory_desc_destroy(left);
    dnnl_memory_desc_destroy(right);
    dnnl_memory_desc_destroy(made);
    return st;
}

/* Gradients of weights over many rows: sgemm is slow at a left factor that lies transposed and is
 * tall. */
bool shim_gains_by_matmul(int64_t m, int64_t n, int64_t k, shim_matrix a)
{
    return a.transposed && !a.bf16 && has(dnnl_cpu_isa_avx512_core) && m >= 1024 && n >= 16 &&
           n <= 512 && k >= 256;
}
