/*
 * What normalisations by channel share. Statistics are folded in one reading: each thread sums
 * differences from the first number it meets, which keeps variances accurate far from zero. What
 * the big loops need of a channel is made beforehand, so that they multiply and add only.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_NORM_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_NORM_CUH

#include "backend/cuda/kernels/fold.cuh"

/* `count` numbers; the sum of their differences from `base`, and of those squared. */
struct moments {
    float count, base, sum, squares;
};

static __device__ __forceinline__ float mean_of(moments m)
{
    return m.count > 0.0f ? m.base + m.sum / m.count : 0.0f;
}

/* The sum of squared differences from the mean. */
static __device__ __forceinline__ float spread_of(moments m)
{
    float spread = m.count > 0.0f ? m.squares - m.sum * (m.sum / m.count) : 0.0f;
    return spread < 0.0f ? 0.0f : spread;
}

static __device__ __forceinline__ void take(moments *m, float x)
{
    m->base = m->count == 0.0f ? x : m->base;
    float d = x - m->base;
    m->count += 1.0f;
    m->sum += d;
    m->squares += d * d;
}

/* Without put(), which knows what is wanted of them. */
template <typename T> struct moments_fold {
    typedef moments state;
    const T *x;
    bool aligned;

    static __device__ __forceinline__ moments none()
    {
        return {0.0f, 0.0f, 0.0f, 0.0f};
    }
    /* Chan, Golub, LeVeque: Updating formulae for computing sample variances, 1979 */
    static __device__ __forceinline__ moments join(moments a, moments b)
    {
        float count = a.count + b.count;
        if (count == 0.0f)
            return none();
        float share = b.count / count, apart = mean_of(b) - mean_of(a);
        float spread = spread_of(a) + spread_of(b) + apart * apart * (a.count * share);
        return {count, (a.count / count) * mean_of(a) + share * mean_of(b), 0.0f, spread};
    }
    __device__ __forceinline__ void one(moments *s, int64_t at, int64_t) const
    {
        take(s, to_float(x[at]));
    }
    typedef as_stored<4, T> piece;
    enum { AHEAD = FOLD_AHEAD };
    __device__ __forceinline__ piece fetch(int64_t at, int64_t i, int64_t n) const
    {
        return stored_load<4>(x + at, i, n, aligned);
    }
    __device__ __forceinline__ void four(moments s[4], const piece &p, int64_t, int64_t, int64_t,
                                         int64_t) const
    {
        quad q = floats_of(p);
        for (int j = 0; j < 4; j++)
            take(&s[j], q.v[j]);
    }
};

/* The gradients of what a norm has made of x, as they are stored. */
template <typename T> struct stored_gradients {
    const T *dy;
    bool aligned;

    __device__ __forceinline__ float one(int64_t at, int64_t, float) const
    {
        return to_float(dy[at]);
    }
    typedef as_stored<4, T> piece;
    enum { AHEAD = FOLD_AHEAD };
    __device__ __forceinline__ piece fetch(int64_t at, int64_t i, int64_t n) const
    {
        return stored_load<4>(dy + at, i, n, aligned);
    }
    __device__ __forceinline__ quad four(const piece &fetched, int64_t, int64_t, int64_t,
                                         const quad &) const
    {
        return floats_of(fetched);
    }
};

/* The sums of dy, and of dy (x - mean). */
struct gradients {
    float plain, normal;
};

/* Likewise. `sharing` results in a row have one mean; 1 where columns are summed. X: a pointer; D:
 * as stored_gradients. */
template <typename X, typename D> struct gradients_fold {
    typedef gradients state;
    D dy;
    X x;
    const float *mean;
    int64_t sharing;
    bool aligned;

    static __device__ __forceinline__ gradients none()
    {
        return {0.0f, 0.0f};
    }
    static __device__ __forceinline__ gradients join(gradients a, gradients b)
    {
        return {a.plain + b.plain, a.normal + b.normal};
    }
    __device__ __forceinline__ void one(gradients *s, int64_t at, int64_t k) const
    {
        float h = to_float(x[at]), d = dy.one(at, k, h);
        s->plain += d;
        s->normal += d * (h - mean[k / sharing]);
    }
    struct piece {
        stored_quad<X> x;
        typename D::piece dy;
    };
    enum { AHEAD = D::AHEAD };
    __device__ __forceinline__ piece fetch(int64_t at, int64_t i, int64_t n) const
    {
        return {stored_load<4>(x + at, i, n, aligned), dy.fetch(at, i, n)};
    }
    __device__ __forceinline__ void four(gradients s[4], const piece &p, int64_t at, int64_t i,
                                         int64_t n, int64_t) const
    {
        quad h = floats_of(p.x), d = dy.four(p.dy, at, i, n, h), m = quad_load(mean, i, n, aligned);
        for (int j = 0; j < 4; j++) {
            s[j].plain += d.v[j];
            s[j].normal += d.v[j] * (h.v[j] - m.v[j]);
        }
    }
};

/* What the big loops know of a channel: forward (x - mean) by + level, backward
 * dy by - (x - mean) tilt - level. */
struct channel_line {
    float mean, by, tilt, level;
};

static __device__ __forceinline__ float normalised(const channel_line &l, float x)
{
    return (x - l.mean) * l.by + l.level;
}
static __device__ __forceinline__ float gradient_through(const channel_line &l, float x, float dy)
{
    return dy * l.by - (x - l.mean) * l.tilt - l.level;
}

/*
 * A map makes numbers four at a time, each of what stands in its place: fetch() reads what four() computes with,
 * MAP_AHEAD of them at a time, so that as many are on their way. Y and X: pointers.
 */
enum { MAP_AHEAD = 4 };

template <typename Y, typename X> struct forward_map {
    typedef channel_line line;
    typedef stored_quad<X> piece;
    Y y;
    X x;
    bool aligned;

    __device__ __forceinline__ piece fetch(int64_t at, int64_t i, int64_t n) const
    {
        return stored_load<4>(x + at, i, n, aligned);
    }
    static __device__ __forceinline__ quad make(const piece &p, const channel_line l[4])
    {
        quad q = floats_of(p);
        for (int j = 0; j < 4; j++)
            q.v[j] = normalised(l[j], q.v[j]);
        return q;
    }
    __device__ __forceinline__ void four(const piece &p, int64_t at, int64_t i, int64_t n,
                                         const channel_line l[4]) const
    {
        quad_store(y + at, i, n, aligned, make(p, l));
    }
};

/* Without four(). */
template <typename T> struct gradient_map {
    T *dx;
    const T *dy, *x;
    bool aligned;

    struct piece {
        as_stored<4, T> dy, x;
    };
    __device__ __forceinline__ piece fetch(int64_t at, int64_t i, int64_t n) const
    {
        return {stored_load<4>(dy + at, i, n, aligned), stored_load<4>(x + at, i, n, aligned)};
    }
};

template <typename T> struct backward_map : gradient_map<T> {
    typedef channel_line line;

    __device__ __forceinline__ void four(const typename gradient_map<T>::piece &p, int64_t at, int64_t i,
                                         int64_t n, const channel_line l[4]) const
    {
        quad d = floats_of(p.dy), h = floats_of(p.x);
        for (int j = 0; j < 4; j++)
            d.v[j] = gradient_through(l[j], h.v[j], d.v[j]);
        quad_store(this->dx + at, i, n, this->aligned, d);
    }
};

/* A plane is a row of one channel; rows have the channels in turn. */
template <typename M, int THREADS>
static KERNEL(ROW_BLOCK<THREADS>, map_planes, M map, const typename M::line *lines, int64_t rows,
              int64_t plane, int64_t channels)
{
    for (int64_t r = row_first(); r < rows; r += row_step()) {
        typename M::line one = lines[r % channels], l[4] = {one, one, one, one};
        int64_t at = r * LD(plane);
        for (int64_t i = 4 * (int64_t)threadIdx.x; i < plane; i += 4 * MAP_AHEAD * THREADS) {
            typename M::piece ahead[MAP_AHEAD];
#pragma unroll
            for (int j = 0; j < MAP_AHEAD; j++)
                if (i + 4 * j * THREADS < plane)
                    ahead[j] = map.fetch(at, i + 4 * j * THREADS, plane);
#pragma unroll
            for (int j = 0; j < MAP_AHEAD; j++)
                if (i + 4 * j * THREADS < plane)
                    map.four(ahead[j], at, i + 4 * j * THREADS, plane, l);
        }
    }
}

template <typename M>
static void map_rows(cuda_stream stream, M map, const typename M::line *lines, int64_t rows,
                     int64_t plane, int64_t channels)
{
    if (rows * plane > 0)
        with_rows(rows, plane, [&](auto threads, dim3 grid, dim3 block) {
            LAUNCH((map_planes<M, decltype(threads)::value>), grid, block, 0, stream, map, lines,
                   rows, plane, channels);
        });
}

#endif
