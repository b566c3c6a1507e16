#include "tune/gaussian_process.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double root5 = 2.2360679774997896;

/* Of logarithms: means and deviations of their normal priors, and bounds of the search. */
static const double noise_mean = -9.0, noise_deviation = 2.0, noise_least = -14.0, noise_most = 0.0;
static const double scale_deviation = 1.7320508075688772, scale_least = -4.0, scale_most = 5.0;
/* So many points of variance 1 the variance of the signal has seen before. */
static const double signal_before = 2.0;

static double scale_mean(int d)
{
    return 0.5 * log(d);
}

/* --- the kernel --- */

static double difference2(const gaussian_process *g, int k, double a, double b)
{
    return g->is_word[k] ? (a == b ? 0.0 : 1.0) : (a - b) * (a - b);
}

static double kernel(const gaussian_process *g, const double *inverse2, const double *a, const double *b)
{
    double r2 = 0;
    for (int k = 0; k < g->d; k++)
        r2 += difference2(g, k, a[k], b[k]) * inverse2[k];
    double r = root5 * sqrt(r2);
    return (1.0 + r + r * r / 3.0) * exp(-r);
}

static void inverse_squares(int d, const double *logs, double *ret)
{
    for (int k = 0; k < d; k++)
        ret[k] = exp(-2.0 * logs[k]);
}

static void kernel_matrix(const gaussian_process *g, const double *inverse2, double noise, double *ret)
{
    for (int i = 0; i < g->n; i++) {
        for (int j = 0; j < i; j++)
            ret[i * g->n + j] = ret[j * g->n + i] = kernel(g, inverse2, g->x + i * g->d, g->x + j * g->d);
        ret[i * g->n + i] = 1.0 + noise;
    }
}

/* --- linear algebra of n by n matrices --- */

/* In place, the lower triangle; false: not positive definite. */
static bool cholesky(int n, double *a)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            if (i == j && sum <= 0)
                return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return true;
}

static void solve_lower(int n, const double *l, double *b)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= l[i * n + k] * b[k];
        b[i] /= l[i * n + i];
    }
}

static void solve(int n, const double *l, double *b)
{
    solve_lower(n, l, b);
    for (int i = n; i-- > 0;) {
        for (int k = i + 1; k < n; k++)
            b[i] -= l[k * n + i] * b[k];
        b[i] /= l[i * n + i];
    }
}

/* Of L L^T, symmetric; `l` becomes the inverse of L. */
static void invert(int n, double *l, double *ret)
{
    for (int j = 0; j < n; j++) {
        l[j * n + j] = 1.0 / l[j * n + j];
        for (int i = j + 1; i < n; i++) {
            double sum = 0;
            for (int k = j; k < i; k++)
                sum -= l[i * n + k] * l[k * n + j];
            l[i * n + j] = sum / l[i * n + i];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = i; k < n; k++)
                sum += l[k * n + i] * l[k * n + j];
            ret[i * n + j] = ret[j * n + i] = sum;
        }
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* --- the evidence --- */

static double prior(double x, double mean, double deviation, double *gradient)
{
    double z = (x - mean) / deviation;
    *gradient -= z / deviation;
    return -0.5 * z * z;
}

/* Derivatives by the logarithms of length scales: half the sum of (w w^T / signal - inverse) by those of the kernel. */
static void add_kernel_gradient(const gaussian_process *g, const double *inverse2, const double *w, double signal,
                                const double *inverse, double *gradient)
{
    for (int i = 0; i < g->n; i++)
        for (int j = 0; j < i; j++) {
            const double *a = g->x + i * g->d, *b = g->x + j * g->d;
            double r2 = 0, part[64];
            for (int k = 0; k < g->d; k++)
                r2 += part[k] = difference2(g, k, a[k], b[k]) * inverse2[k];
            double r = root5 * sqrt(r2), slope = 5.0 / 3.0 * (1.0 + r) * exp(-r);
            double both = w[i] * w[j] / signal - inverse[i * g->n + j]; /* (i, j) and (j, i) */
            for (int k = 0; k < g->d; k++)
                gradient[k] += both * slope * part[k];
        }
}

double gaussian_process_evidence(const gaussian_process *g, const double *logs, double *ret_gradient)
{
    int n = g->n, d = g->d;
    size_t square = (size_t)n * (size_t)n;
    double *c = xmalloc((2 * square + (size_t)(n + d)) * sizeof *c);
    double *inverse = c + square, *w = inverse + square, *inverse2 = w + n, noise = exp(logs[d]);
    memset(ret_gradient, 0, ((size_t)d + 1) * sizeof *ret_gradient);
    inverse_squares(d, logs, inverse2);
    kernel_matrix(g, inverse2, noise, c);
    double value = -INFINITY;
    if (cholesky(n, c)) {
        double determinant = 0, trace = 0;
        for (int i = 0; i < n; i++)
            determinant += 2.0 * log(c[i * n + i]);
        memcpy(w, g->y, (size_t)n * sizeof *w);
        solve(n, c, w);
        double signal = (dot(n, w, g->y) + signal_before) / (n + signal_before);
        value = -0.5 * ((n + signal_before) * log(signal) + determinant);
        invert(n, c, inverse);
        add_kernel_gradient(g, inverse2, w, signal, inverse, ret_gradient);
        for (int i = 0; i < n; i++)
            trace += inverse[i * n + i];
        ret_gradient[d] = 0.5 * noise * (dot(n, w, w) / signal - trace);
        for (int k = 0; k < d; k++)
            value += prior(logs[k], scale_mean(d), scale_deviation, &ret_gradient[k]);
        value += prior(logs[d], noise_mean, noise_deviation, &ret_gradient[d]);
    }
    free(c);
    return value;
}

/* --- its maximum --- */

enum { STEPS = 50 };

static double clamp(double x, double least, double most)
{
    return fmin(fmax(x, least), most);
}

/* Uphill: a step a coordinate that grows while the derivative keeps its sign. `logs` becomes the best place met. */
static double climb(const gaussian_process *g, double *logs)
{
    size_t n = (size_t)g->d + 1;
    double *room = xcalloc(4 * n, sizeof *room), *now = room, *gradient = now + n, *before = gradient + n;
    double *step = before + n, best = -INFINITY;
    memcpy(now, logs, n * sizeof *now);
    for (size_t k = 0; k < n; k++)
        step[k] = 0.2;
    for (int i = 0; i < STEPS; i++) {
        double value = gaussian_process_evidence(g, now, gradient), longest = 0;
        if (value > best) {
            best = value;
            memcpy(logs, now, n * sizeof *now);
        }
        for (size_t k = 0; k < n; k++) {
            double turn = gradient[k] * before[k];
            step[k] = turn > 0 ? fmin(step[k] * 1.2, 1.0) : turn < 0 ? step[k] * 0.5 : step[k];
            before[k] = turn < 0 ? 0 : gradient[k];
            bool is_noise = k + 1 == n;
            double by = before[k] > 0 ? step[k] : before[k] < 0 ? -step[k] : 0;
            double next = clamp(now[k] + by, is_noise ? noise_least : scale_least, is_noise ? noise_most : scale_most);
            longest = fmax(longest, fabs(next - now[k]));
            now[k] = next;
        }
        if (!isfinite(value) || (longest < 1e-3 && i > 5))
            break;
    }
    free(room);
    return best;
}

static void maximise(gaussian_process *g)
{
    static const struct {
        double scale, noise;
    } starts[] = {{0.0, -9.0}, {-1.5, -6.0}, {1.0, -3.0}};
    size_t n = (size_t)g->d + 1;
    double *logs = xcalloc(2 * n, sizeof *logs), *best = logs + n, highest = -INFINITY;
    best[g->d] = noise_most; /* a kernel matrix that is as good as diagonal */
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        for (int k = 0; k < g->d; k++)
            logs[k] = scale_mean(g->d) - 1.0 + starts[i].scale;
        logs[g->d] = starts[i].noise;
        double value = climb(g, logs);
        if (value > highest) {
            highest = value;
            memcpy(best, logs, n * sizeof *best);
        }
    }
    for (int k = 0; k < g->d; k++)
        g->scale[k] = exp(best[k]);
    g->noise = exp(best[g->d]);
    free(logs);
}

/* --- the process --- */

/* Its kernel matrix has a factor: the search found it, and otherwise a little more noise does. */
static void factorize(gaussian_process *g)
{
    size_t square = (size_t)g->n * (size_t)g->n;
    double *inverse2 = xmalloc((size_t)g->d * sizeof *inverse2);
    for (int k = 0; k < g->d; k++)
        inverse2[k] = 1.0 / (g->scale[k] * g->scale[k]);
    g->factor = xrealloc(g->factor, square * sizeof *g->factor);
    g->weights = xrealloc(g->weights, (size_t)g->n * sizeof *g->weights);
    for (;; g->noise *= 10.0) {
        kernel_matrix(g, inverse2, g->noise, g->factor);
        if (cholesky(g->n, g->factor))
            break;
    }
    memcpy(g->weights, g->y, (size_t)g->n * sizeof *g->weights);
    solve(g->n, g->factor, g->weights);
    g->signal = (dot(g->n, g->weights, g->y) + signal_before) / (g->n + signal_before);
    free(inverse2);
}

void gaussian_process_fit(gaussian_process *g, int n, int d, const bool *is_word, const double *x, const double *y)
{
    *g = (gaussian_process){.n = n, .d = d, .is_word = is_word};
    g->x = xmalloc((size_t)n * (size_t)d * sizeof *g->x);
    g->y = xmalloc((size_t)n * sizeof *g->y);
    g->scale = xmalloc((size_t)d * sizeof *g->scale);
    memcpy(g->x, x, (size_t)n * (size_t)d * sizeof *g->x);
    memcpy(g->y, y, (size_t)n * sizeof *g->y);
    maximise(g);
    factorize(g);
}

void gaussian_process_fini(gaussian_process *g)
{
    free(g->x);
    free(g->y);
    free(g->scale);
    free(g->factor);
    free(g->weights);
    *g = (gaussian_process){.n = 0};
}

void gaussian_process_add(gaussian_process *g, const double *x, double y)
{
    size_t n = (size_t)g->n, d = (size_t)g->d;
    g->x = xrealloc(g->x, (n + 1) * d * sizeof *g->x);
    g->y = xrealloc(g->y, (n + 1) * sizeof *g->y);
    memcpy(g->x + n * d, x, d * sizeof *x);
    g->y[n] = y;
    g->n++;
    factorize(g);
}

void gaussian_process_predict(const gaussian_process *g, const double *x, double *room, double *ret_mean,
                              double *ret_deviation)
{
    double inverse2[64];
    for (int k = 0; k < g->d; k++)
        inverse2[k] = 1.0 / (g->scale[k] * g->scale[k]);
    for (int i = 0; i < g->n; i++)
        room[i] = kernel(g, inverse2, g->x + i * g->d, x);
    *ret_mean = dot(g->n, room, g->weights);
    solve_lower(g->n, g->factor, room);
    double variance = fmax(1.0 - dot(g->n, room, room), 1e-12);
    *ret_deviation = sqrt(g->signal * variance);
}
