/*
 * Convolution and its gradients as matrix products whose one factor is gathered from an image while
 * it is read (implicit GEMM), and, for groups of few channels, directly.
 *
 *   forward            rows are pixels of y, columns maps, k taps: the weights of a map
 *   gradient of x      rows are pixels of x, columns channels, k weights of a channel
 *   gradient of w      rows are maps, columns taps, k pixels of y
 *
 * A plain fallback where cuDNN is missing or refuses, and frozen: no faster way is added without a measurement.
 */
#include "backend/cuda/kernels/conv.h"
#include "backend/cuda/kernels/tile_matmul.cuh"

/* A pixel or a tap: where its image or channel begins, and its coordinates. Their sum (forward) or
 * difference (back) is a position of the padded or, back, stretched image. */
struct conv_spot {
    int64_t begin;
    int at[3];
};

/* Factors of an image: as rows its pixels and as k its taps, or, TRANSPOSED, the other way round.
 */
template <bool BACK, bool TRANSPOSED> struct conv_gather : tile_factors {
    static constexpr tile_rows ROWS = TRANSPOSED ? TILE_WHOLE_ROWS : TILE_NO_ROWS;
    typedef conv_spot line;
    typedef conv_spot step;
    int type;
    int size[3];       /* of the image that is read */
    divisor extent[3]; /* ... and of the one whose pixels ask */
    divisor kernel[3], stride[3];
    int dilation[3], pad[3];
    divisor taps; /* [channel, position of the kernel] or, channels inner, transposed */
    bool channels_inner;
    int64_t image_step, channel_step, position_step;

    __device__ __forceinline__ conv_spot pixel_of(int i) const
    {
        conv_spot s;
#pragma unroll
        for (int a = 2; a >= 0; a--) {
            int rest = divide(i, extent[a]), at = i - rest * (int)extent[a].by;
            s.at[a] = BACK ? at + pad[a] : at * (int)stride[a].by - pad[a];
            i = rest;
        }
        s.begin = i * LD(image_step);
        return s;
    }
    __device__ __forceinline__ conv_spot tap_of(int i) const
    {
        int outer = divide(i, taps), inner = i - outer * (int)taps.by;
        int position = channels_inner ? outer : inner;
        conv_spot s;
#pragma unroll
        for (int a = 2; a >= 0; a--) {
            int rest = divide(position, kernel[a]);
            s.at[a] = (position - rest * (int)kernel[a].by) * dilation[a];
            position = rest;
        }
        s.begin = (channels_inner ? inner : outer) * LD(channel_step);
        return s;
    }
    __device__ __forceinline__ conv_spot line_of(int row) const
    {
        return TRANSPOSED ? tap_of(row) : pixel_of(row);
    }
    __device__ __forceinline__ conv_spot step_of(int k) const
    {
        return TRANSPOSED ? pixel_of(k) : tap_of(k);
    }
    /* -1: in the padding, or between the stretched image's pixels */
    __device__ __forceinline__ int64_t at(const conv_spot &l, const conv_spot &s) const
    {
        const conv_spot &pixel = TRANSPOSED ? s : l, &tap = TRANSPOSED ? l : s;
        uint32_t position = 0;
        bool is_there = true;
#pragma unroll
        for (int a = 0; a < 3; a++) {
            int at = BACK ? pixel.at[a] - tap.at[a] : pixel.at[a] + tap.at[a];
            if (BACK && at >= 0) {
                int stretched = divide(at, stride[a]);
                is_there = is_there && at == stretched * (int)stride[a].by;
                at = stretched;
            }
            is_there = is_there && at >= 0 && at < size[a];
            position = position * (uint32_t)size[a] + (uint32_t)at;
        }
        return IN(is_there) ? pixel.begin + tap.begin + position * LD(position_step) : -1;
    }
};

typedef conv_gather<false, false> conv_windows;  /* forward */
typedef conv_gather<false, true> conv_columns;   /* gradient of w */
typedef conv_gather<true, false> conv_stretched; /* gradient of x */

static int64_t volume(const int32_t size[3])
{
    return (int64_t)size[0] * size[1] * size[2];
}

/* The weights of a map, or of a channel, in the order of their taps: the position of the kernel by
 * itself, the other axis (of `size`, by `step`) inner or outer. */
static tile_axis tap_axis(const conv_task *t, bool inner, int64_t size, int64_t step)
{
    int64_t position = t->w.at.position;
    return inner ? tile_axis_of(size, position, step)
                 : tile_axis_of(volume(t->kernel), step, position);
}

template <bool BACK, bool TRANSPOSED>
static conv_gather<BACK, TRANSPOSED> gather_of(const conv_task *t, bool channels_inner)
{
    const conv_operand *image = BACK ? &t->y : &t->x;
    int64_t channels = (BACK ? t->maps : t->channels) / t->groups;
    conv_gather<BACK, TRANSPOSED> g = {};
    g.data = image->data;
    g.type = image->type;
    g.bytes = (int)dtype_bytes(image->type);
    g.batch_step = channels * image->at.channel;
    for (int a = 0; a < 3; a++) {
        g.size[a] = BACK ? t->out[a] : t->in[a];
        g.extent[a] = divisor_of(BACK ? t->in[a] : t->out[a]);
        g.kernel[a] = divisor_of(t->kernel[a]);
        g.stride[a] = divisor_of(t->stride[a]);
        g.dilation[a] = t->dilation[a];
        g.pad[a] = t->pad[a];
    }
    g.channels_inner = channels_inner;
    g.taps = divisor_of(channels_inner ? channels : volume(t->kernel));
    g.image_step = image->at.outer;
    g.channel_step = image->at.channel;
    g.position_step = image->at.position;
    g.rows =
        (int)(TRANSPOSED ? channels * volume(t->kernel) : t->batch * volume(BACK ? t->in : t->out));
    g.vector = channels_inner && g.channel_step == 1 && channels * g.bytes % 16 == 0 &&
               g.image_step * g.bytes % 16 == 0 && g.position_step * g.bytes % 16 == 0 &&
               (uintptr_t)g.data % 16 == 0;
    g.along_k = !TRANSPOSED || !g.vector;
    return g;
}

static tile_dense dense_of(const conv_task *t, const conv_operand *o, int64_t rows,
                           int64_t row_step, tile_axis k_axis, int64_t group_step, int64_t k)
{
    tile_dense s = {};
    s.data = o->data;
    s.bytes = tile_bytes_of(t->kind);
    s.batch_step = group_step;
    s.rows = (int)rows;
    s.row_axis = tile_axis_plain(row_step);
    s.k_axis = k_axis;
    tile_dense_ways(&s, k);
    return s;
}

/* Images as results: rows are pixels, columns channels of a group. */
static tile_result image_of(const conv_task *t, const conv_operand *o, int64_t positions,
                            int64_t channels)
{
    tile_result r = {};
    r.data = o->data;
    r.type = o->type;
    r.batch_step = channels * o->at.channel;
    r.row_axis = tile_axis_of(positions, o->at.outer, o->at.position);
    r.column_axis = tile_axis_plain(o->at.channel);
    r.end = t->end;
    r.end.c_batch = channels * t->end.c_column;
    return r;
}

/* --- directly: a thread an element, all channels of its group and positions in order --- */

enum { THREADS = 256 };

struct conv_direct {
    int64_t rows;     /* pixels of what is made */
    int makes, reads; /* channels of a group */
    int64_t groups;
    bool channels_inner; /* neighbouring threads make channels of a pixel */
    const void *w;
    int w_type;
    int64_t w_group, w_made, w_read, w_position; /* elements */
};

template <class GATHER>
static KERNEL_BLOCKS(THREADS, 4, conv_direct_image, GATHER g, tile_result y, conv_direct d)
{
    int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x, columns = d.makes * d.groups;
    if (!IN(i < d.rows * columns))
        return;
    int row = (int)(d.channels_inner ? i / columns : i % d.rows);
    int64_t column = d.channels_inner ? i % columns : i / d.rows;
    int64_t group = column / d.makes;
    int made = (int)(column % d.makes);
    g.enter(group);
    conv_spot pixel = g.pixel_of(row), tap;
    float sum = 0.0f;
    for (int c = 0; c < d.reads; c++) {
        tap.begin = c * LD(g.channel_step);
        int64_t w = group * LD(d.w_group) + made * LD(d.w_made) + c * LD(d.w_read);
        for (int a = 0; a < (int)g.kernel[0].by; a++) {
            tap.at[0] = a * g.dilation[0];
            for (int b = 0; b < (int)g.kernel[1].by; b++) {
                tap.at[1] = b * g.dilation[1];
                for (int e = 0; e < (int)g.kernel[2].by; e++, w += LD(d.w_position)) {
                    tap.at[2] = e * g.dilation[2];
                    int64_t at = g.at(pixel, tap);
                    if (at >= 0)
                        sum =
                            fmaf(tile_float(g.data, g.type, at), tile_float(d.w, d.w_type, w), sum);
                }
            }
        }
    }
    y.put(group, row, made, sum);
}

template <class GATHER>
static void launch_direct(cuda_stream stream, const conv_task *t, const GATHER &g,
                          const tile_result &y, conv_direct d)
{
    d.rows = g.rows;
    d.groups = t->groups;
    d.w = t->w.data;
    d.w_type = t->w.type;
    d.w_group = t->maps / t->groups * t->w.at.outer;
    d.w_position = t->w.at.position;
    int64_t blocks = (d.rows * d.makes * d.groups + THREADS - 1) / THREADS;
    if (blocks > 0)
        LAUNCH((conv_direct_image<GATHER>), dim3((unsigned)blocks), dim3(THREADS), 0, stream, g, y,
               d);
}

/* Sums over pixels: of dy * x for every weight, or of dy itself for the bias. A block makes one
 * term of `lanes` maps, whose pixels it deals to THREADS / lanes threads each. */
struct conv_pixel_sums {
    const void *dy;
    int dy_type;
    int64_t dy_map;
    tile_axis dy_axis; /* by pixel */
    int maps, maps_of_group, terms, lanes;
    int pixels, pieces, piece_pixels;
};

template <bool BIAS>
static KERNEL(THREADS, conv_sum_pixels, conv_columns x, tile_result y, conv_pixel_sums d,
              float *parts)
{
    SHARED(float, sums, [THREADS]);
    int thread = threadIdx.x, lane = thread % d.lanes;
    int64_t block = blockIdx.x;
    int term = (int)(block % d.terms);
    block /= d.terms;
    int piece = (int)(block % d.pieces);
    int map = (int)(block / d.pieces) * d.lanes + lane;
    int begin = piece * d.piece_pixels;
    int end = d.pixels - begin < d.piece_pixels ? d.pixels : begin + d.piece_pixels;
    conv_spot tap = x.tap_of(term);
    x.enter(map / d.maps_of_group);
    float sum = 0.0f;
    if (IN(map < d.maps)) {
        for (int i = begin + thread / d.lanes; i < end; i += THREADS / d.lanes) {
            int64_t at = map * LD(d.dy_map) + d.dy_axis.at(i);
            if (BIAS) {
                sum += tile_float(d.dy, d.dy_type, at);
                continue;
            }
            int64_t from = x.at(tap, x.pixel_of(i));
            if (from >= 0)
                sum = fmaf(tile_float(d.dy, d.dy_type, at), tile_float(x.data, x.type, from), sum);
        }
    }
    sums[thread] = sum;
    for (int half = THREADS / 2; half >= d.lanes; half /= 2) {
        __syncthreads();
        if (IN(thread < half))
            sums[thread] += sums[thread + half];
    }
    if (!IN(thread < d.lanes && map < d.maps))
        return;
    if (d.pieces == 1)
        y.put(0, map, term, sums[thread]);
    else
        parts[((int64_t)piece * d.maps + map) * d.terms + term] = sums[thread];
}

template <bool BIAS>
static void launch_pixel_sums(cuda_stream stream, const conv_task *t, const tile_result &y,
                              int64_t terms)
{
    conv_columns x = gather_of<false, true>(t, false);
    int64_t positions = volume(t->out), pixels = t->batch * positions;
    int64_t each = (pixels + t->cut.pieces - 1) / t->cut.pieces;
    conv_pixel_sums d = {};
    d.dy = t->y.data;
    d.dy_type = t->y.type;
    d.dy_map = t->y.at.channel;
    d.dy_axis = tile_axis_of(positions, t->y.at.outer, t->y.at.position);
    d.maps = (int)t->maps;
    d.maps_of_group = (int)(t->maps / t->groups);
    d.terms = (int)terms;
    d.lanes = t->y.at.channel == 1 ? 32 : 1;
    d.pixels = (int)pixels;
    d.piece_pixels = (int)(each > 0 ? each : 1);
    d.pieces = each > 0 ? (int)((pixels + each - 1) / each) : 1;
    int64_t blocks = (t->maps + d.lanes - 1) / d.lanes * d.pieces * d.terms;
    if (blocks == 0)
        return;
    LAUNCH((conv_sum_pixels<BIAS>), dim3((unsigned)blocks), dim3(THREADS), 0, stream, x, y, d,
           t->cut.parts);
    tile_deal deal = {};
    deal.batches = 1;
    deal.rows = d.maps;
    deal.columns = d.terms;
    deal.pieces = d.pieces;
    deal.parts = t->cut.parts;
    if (d.pieces > 1)
        tile_launch_add(stream, y, deal);
}

/* --- what is asked for --- */

void launch_conv(cuda_stream stream, const conv_task *t)
{
    int64_t channels = t->channels / t->groups, maps = t->maps / t->groups;
    int64_t k = channels * volume(t->kernel);
    bool inner = t->x.at.channel == 1;
    conv_windows x = gather_of<false, false>(t, inner);
    tile_result y = image_of(t, &t->y, volume(t->out), maps);
    if (t->direct) {
        conv_direct d = {};
        d.makes = (int)maps;
        d.reads = (int)channels;
        d.w_made = t->w.at.outer;
        d.w_read = t->w.at.channel;
        d.channels_inner = t->y.at.channel == 1;
        launch_direct(stream, t, x, y, d);
        return;
    }
    tile_axis taps = tap_axis(t, inner, channels, t->w.at.channel);
    tile_dense w = dense_of(t, &t->w, maps, t->w.at.outer, taps, maps * t->w.at.outer, k);
    tile_launch<false>(stream, t->kind, t->cut, x, w, y, t->groups, k);
}

void launch_conv_bwd_data(cuda_stream stream, const conv_task *t)
{
    int64_t channels = t->channels / t->groups, maps = t->maps / t->groups;
    int64_t k = maps * volume(t->kernel);
    bool inner = t->y.at.channel == 1;
    conv_stretched dy = gather_of<true, false>(t, inner);
    tile_result dx = image_of(t, &t->x, volume(t->in), channels);
    if (t->direct) {
        conv_direct d = {};
        d.makes = (int)channels;
        d.reads = (int)maps;
        d.w_made = t->w.at.channel;
        d.w_read = t->w.at.outer;
        d.channels_inner = t->x.at.channel == 1;
        launch_direct(stream, t, dy, dx, d);
        return;
    }
    tile_axis taps = tap_axis(t, inner, maps, t->w.at.outer);
    tile_dense w = dense_of(t, &t->w, channels, t->w.at.channel, taps, maps * t->w.at.outer, k);
    tile_launch<false>(stream, t->kind, t->cut, dy, w, dx, t->groups, k);
}

void launch_conv_bwd_weights(cuda_stream stream, const conv_task *t)
{
    int64_t channels = t->channels / t->groups, maps = t->maps / t->groups;
    int64_t positions = volume(t->out), pixels = t->batch * positions;
    bool inner = !t->direct && t->x.at.channel == 1;
    tile_result dw = {};
    dw.data = t->w.data;
    dw.type = t->w.type;
    dw.batch_step = maps * t->w.at.outer;
    dw.row_axis = tile_axis_plain(t->w.at.outer);
    dw.column_axis = tap_axis(t, inner, channels, t->w.at.channel);
    dw.end.alpha = t->end.alpha;
    if (t->direct) {
        launch_pixel_sums<false>(stream, t, dw, channels * volume(t->kernel));
        return;
    }
    tile_axis by_pixel = tile_axis_of(positions, t->y.at.outer, t->y.at.position);
    tile_dense dy =
        dense_of(t, &t->y, maps, t->y.at.channel, by_pixel, maps * t->y.at.channel, pixels);
    tile_launch<false>(stream, t->kind, t->cut, dy, gather_of<false, true>(t, inner), dw, t->groups,
                       pixels);
}

void launch_conv_bwd_bias(cuda_stream stream, const conv_task *t, float *db)
{
    tile_result r = {};
    r.data = db;
    r.type = DT_F32;
    r.row_axis = r.column_axis = tile_axis_plain(1);
    r.end.alpha = t->end.alpha;
    launch_pixel_sums<true>(stream, t, r, 1);
}
