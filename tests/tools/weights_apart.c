/*
 * How far the weights of two jobs are apart:
 *
 *   weights_apart A.safetensors B.safetensors TOLERANCE
 *
 * prints the tensor that is furthest off, and ends with 1 if any differs from B's, as a norm, by
 * more than TOLERANCE of B's norm and a millionth of the norm of all that B holds.
 */
#include "common/base/error.h"
#include "common/store/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double GRAIN = 1e-6;

static double element(const st_tensor *t, size_t i)
{
    float x;
    memcpy(&x, (const char *)t->data + i * sizeof x, sizeof x);
    return (double)x;
}

/* Of t, or of what it differs by. */
static double square(const st_tensor *t, const st_tensor *less)
{
    double sum = 0;
    for (size_t i = 0; i < t->bytes / sizeof(float); i++) {
        double x = element(t, i) - (less ? element(less, i) : 0);
        sum += x * x;
    }
    return sum;
}

static double whole_norm(const st_file *f)
{
    double sum = 0;
    for (size_t i = 0; i < st_count(f); i++)
        sum += square(st_at(f, i), NULL);
    return sqrt(sum);
}

/* Of their own size; NAN or INFINITY where they do not compare. */
static double apart(const st_file *a, const st_tensor *b, double grain)
{
    const st_tensor *other = st_find(a, b->name);
    if (!other || other->bytes != b->bytes || b->dtype != DT_F32 || other->dtype != DT_F32)
        return (double)INFINITY;
    return sqrt(square(b, other)) / (sqrt(square(b, NULL)) + grain);
}

static int compare(const st_file *a, const st_file *b, double tolerance)
{
    double grain = GRAIN / tolerance * whole_norm(b), worst = 0;
    const char *of = "nothing";
    for (size_t i = 0; i < st_count(b); i++) {
        double x = apart(a, st_at(b, i), grain);
        if (x <= worst)
            continue;
        worst = x;
        of = st_at(b, i)->name;
    }
    printf("at most %.2g apart, in %s of %zu tensors\n", worst, of, st_count(b));
    return worst <= tolerance && st_count(a) == st_count(b) && st_count(b) > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    error err = ERROR_INIT;
    st_file *a = NULL, *b = NULL;
    if (argc != 4 || st_open(argv[1], &a, &err) != OK || st_open(argv[2], &b, &err) != OK) {
        fprintf(stderr, "weights_apart A B TOLERANCE: %s\n", err.text);
        st_close(&a);
        return 2;
    }
    int apart_by = compare(a, b, strtod(argv[3], NULL));
    st_close(&a);
    st_close(&b);
    return apart_by;
}
