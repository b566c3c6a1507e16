/*
 * Kernels alone: arrays of the host go to the device, a launcher of kernels/launch.h is called on
 * kernel_test_stream(), arrays come back. No graph and no backend.
 *
 *   static void adds(void **state)
 *   {
 *       float *x = on_device(host, sizeof host), *y = device_alloc(sizeof host);
 *       launch_negate(kernel_test_stream(), y, x, n);
 *       from_device(result, y, sizeof result);       // waits; asserts that nothing went wrong
 *       ...
 *   }
 *   int main(void)
 *   {
 *       const struct CMUnitTest tests[] = {KERNEL_TEST(adds)};
 *       return kernel_tests_run(tests, sizeof tests / sizeof *tests);
 *   }
 *
 * Every test runs under two opposite schedules (machine.h), or once if it is watched. Memory is
 * freed behind each test. With EMU_LEDGER=file the tests' places, those in the files EMU_SPOIL
 * names, are spoilt too (spoil.h).
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_KERNEL_TEST_H
#define TEQUIO_TESTS_CUDA_EMU_KERNEL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/cuda/kernels/launch.h"

cuda_stream kernel_test_stream(void);

/* Memory of the device: with a copy of these bytes, or poisoned (NaN). The end is exact. */
void *on_device(const void *host, size_t bytes);
void *device_alloc(size_t bytes);
void from_device(void *host, const void *device, size_t bytes);
/* Gives all of it back before the test's end, for one that goes through many shapes. */
void device_clear(void);

/* n numbers in [-1, 1), by a seed. */
void random_floats(float *ret, size_t n, uint32_t seed);
/* As they are stored: rounded to type, 4 or 2 bytes each; and back. */
size_t stored_bytes(launch_type type, size_t n);
void to_stored(void *ret, launch_type type, const float *x, size_t n);
void from_stored(float *ret, launch_type type, const void *x, size_t n);

/* |got - want| <= absolute + relative |want|, or the message tells the first that is not, what
 * (e.g. "softmax 3 x 1025") and how many. */
void assert_floats_close(const char *what, const float *got, const double *want, size_t n,
                         double absolute, double relative);

int kernel_test_begin(void **state);
int kernel_test_end(void **state);
#define KERNEL_TEST(f) cmocka_unit_test_setup_teardown(f, kernel_test_begin, kernel_test_end)
int kernel_tests_run(const struct CMUnitTest *tests, size_t n);

#endif
