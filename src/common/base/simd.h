/*
 * Wide kernels from plain loops. SIMD_CLONES compiles a function for several instruction sets and
 * picks one when the program is loaded; SIMD_LOOP in front of a loop says that its iterations do
 * not depend on one another: arrays are either the same or do not overlap.
 *
 * Only for element-wise loops of IEEE 754 operations, whose bits do not depend on the width, and
 * only on static functions: compilers disagree about the name other files would call. No clones
 * under sanitizers, which run before the choice is made, and on other machines.
 */
#ifndef TEQUIO_COMMON_BASE_SIMD_H
#define TEQUIO_COMMON_BASE_SIMD_H

#if defined(__x86_64__) && !defined(TEQUIO_SANITIZED)
#define SIMD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SIMD_CLONES
#endif

#ifdef __clang__
#define SIMD_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define SIMD_LOOP _Pragma("GCC ivdep")
#endif

#endif
