/*
 * Attention, backward: the scores are made again tile by tile and are probabilities at once with
 * the row's log-sum-exp. With p those, o the result and do its gradient:
 *
 *   dv = p^T do     dp = do v^T     ds = p (dp - do . o)     dq = scale ds k     dk = scale ds^T q
 *
 * One kernel has a tile of queries and goes over the keys for dq; one has a tile of keys and goes
 * over the queries, and the heads of queries that share them, for dk and dv. Each sum is one
 * block's, in ascending order: the scores are made twice, and no atomics are needed. A mask that is
 * added has the gradient ds, summed over what it is the same for: a third kernel, where it is wanted,
 * has a tile of the mask and goes over all tiles of scores that it is added to.
 */
#include "backend/cuda/kernels/attention_choice.cuh"

enum {
    DELTA_THREADS = 256,
    MASK_BLOCKS = 2, /* its sums are registers too: fewer of them find room */
};

/* delta = dy . y of every query of every head: a warp each */
static KERNEL(DELTA_THREADS, attend_bwd_delta, launch_attention_bwd b, int64_t rows)
{
    const launch_attention &t = b.of;
    int64_t item = (int64_t)blockIdx.x * (DELTA_THREADS / 32) + threadIdx.x / 32;
    int64_t at = IN(item < rows) ? item : rows - 1, head = at / t.q_length;
    auto row = [&](const void *x) {
        return matrix_of(x, t.results, t.y_layout, head / t.q_heads, head % t.q_heads,
                         at % t.q_length, t.q_length, t.v_head);
    };
    matrix y = row(t.y), dy = row(b.dy);
    float sum = 0.0f;
    for (int i = (int)threadIdx.x % 32; i < t.v_head; i += 32)
        sum = fmaf(matrix_element(y, 0, i), matrix_element(dy, 0, i), sum);
    sum = warp_sum(sum);
    if (IN(item < rows) && threadIdx.x % 32 == 0)
        b.delta[item] = sum;
}

/* What backward knows of a query. Beyond the last, one that looks at nothing. */
struct attention_query {
    float lse, delta;
};

static __device__ __forceinline__ attention_query query_of(const launch_attention_bwd &b,
                                                           int64_t batch, int64_t head,
                                                           int64_t query)
{
    const launch_attention &t = b.of;
    if (!IN(query < t.q_length))
        return {INFINITY, 0.0f};
    int64_t at = (batch * t.q_heads + head) * t.q_length + query;
    return {t.lse[at], b.delta[at]};
}

/*
 * From scores and the gradients of their probabilities: s, the probabilities as they were
 * multiplied with values, and the scores' gradients. query(i, j): what is known of the query of
 * s[i][j].
 */
template <class E, bool TRANSPOSED, typename Q>
static __device__ __forceinline__ void
differentiate(float s[E::HELD][E::SPREAD], float gradient[E::HELD][E::SPREAD],
              const launch_attention &t, const drop_rule &drops, const philox &words, Q query)
{
    typedef attention_tile<E, TRANSPOSED> numbers;
    typedef drop_tile<numbers::ROWS, numbers::COLUMNS> tile_type;
    SHARED(tile_type, tile, [1]);
#pragma unroll
    for (int i = 0; i < E::HELD; i++)
#pragma unroll
        for (int j = 0; j < E::SPREAD; j++)
            s[i][j] = exp2_fast((s[i][j] - query(i, j).lse) * LOG2_E);
    if (t.drop.batch)
        drop_draw<E::THREADS>(tile[0], drops, words, t.drop.threshold);
#pragma unroll
    for (int i = 0; i < E::HELD; i++)
#pragma unroll
        for (int j = 0; j < E::SPREAD; j++) {
            float p = s[i][j], kept = 1.0f;
            if (t.drop.batch)
                kept = drop_factor(tile[0], drops, numbers::query(i, j), numbers::key(i, j));
            gradient[i][j] = p * fmaf(gradient[i][j], kept, -query(i, j).delta);
            s[i][j] = p * kept;
        }
}

/* A tile of a gradient that lies as `layout` says, times `by`. */
template <class E>
static __device__ __forceinline__ void
write_gradients(const launch_attention &t, void *to, const launch_layout &layout,
                const attention_place &at, int64_t length, int64_t width, float by,
                const float x[E::HELD][E::WIDE])
{
    int first_column = (int)blockIdx.z * E::WIDTH;
#pragma unroll
    for (int i = 0; i < E::HELD; i++) {
        int64_t row = at.first + E::row(i);
        int64_t place =
            at.batch * LD(layout.batch) + at.head * LD(layout.head) + row * LD(layout.position);
#pragma unroll
        for (int j = 0; j < E::WIDE; j++) {
            int column = first_column + E::column(j);
            if (IN(row < length) && IN(column < width))
                put_result(to, t.results, place + column, x[i][j] * by);
        }
    }
}

/* grid: tiles of queries of every head and batch, 1, tiles of the queries' columns */
template <class E>
static KERNEL_BLOCKS(E::THREADS, E::BLOCKS, attend_bwd_queries, launch_attention_bwd b)
{
    if constexpr (E::NEEDS_SM_80 && BEFORE_SM_80)
        return;
    const launch_attention &t = b.of;
    attention_place at = attention_place_of(t.q_length, t.q_heads, E::ROWS, true);
    philox words = philox_of(t.drop);
    int64_t limit = attention_limit(t, at.first + E::ROWS), kv = at.head / (t.q_heads / t.kv_heads);
    E engine;
    auto fetch_keys = [&](int64_t first) {
        engine.fetch(PASSES,
                     matrix_of(t.k, t.operands, t.k_layout, at.batch, kv, first, limit, t.head));
        engine.commit();
        engine.fetch(PASSES_TOO,
                     matrix_of(t.v, t.operands, t.v_layout, at.batch, kv, first, limit, t.v_head));
        engine.commit();
    };
    float dq[E::HELD][E::WIDE] = {};
    attention_query query[E::HELD];
#pragma unroll
    for (int i = 0; i < E::HELD; i++)
        query[i] = query_of(b, at.batch, at.head, at.first + E::row(i));
    engine.fetch(STAYS, matrix_of(t.q, t.operands, t.q_layout, at.batch, at.head, at.first,
                                  t.q_length, t.head));
    engine.fetch(STAYS_TOO, matrix_of(b.dy, t.results, t.y_layout, at.batch, at.head, at.first,
                                      t.q_length, t.v_head));
    fetch_keys(0);
    for (int64_t key = 0; key < limit; key += E::COLUMNS) {
        float s[E::HELD][E::SPREAD], gradient[E::HELD][E::SPREAD];
        engine.template arrive<1>();
        engine.dot(s, STAYS, PASSES);
        engine.template arrive<0>();
        engine.dot(gradient, STAYS_TOO, PASSES_TOO);
        attention_score<attention_tile<E, false>, E>(
            s, attention_rule_of(t, at.batch, at.head, at.first, key));
        differentiate<E, false>(s, gradient, t, drop_rule_of(t, at.batch, at.head, at.first, key),
                                words, [&](int i, int) { return query[i]; });
        engine.add(dq, gradient, PASSES, (int)blockIdx.z * E::WIDTH);
        engine.leave();
        if (key + E::COLUMNS < limit)
            fetch_keys(key + E::COLUMNS);
    }
    write_gradients<E>(t, b.dq, t.q_layout, at, t.q_length, t.head, t.scale, dq);
}

/* grid: tiles of keys of every head of keys and batch, 1, tiles of the keys' or values' columns */
template <class E> static KERNEL_BLOCKS(E::THREADS, 2, attend_bwd_keys, launch_attention_bwd b)
{
    if constexpr (E::NEEDS_SM_80 && BEFORE_SM_80)
        return;
    const launch_attention &t = b.of;
    attention_place at = attention_place_of(t.k_length, t.kv_heads, E::ROWS, false);
    philox words = philox_of(t.drop);
    int q_length = (int)t.q_length, group = (int)(t.q_heads / t.kv_heads);
    int first_head = (int)at.head * group, from = (int)blockIdx.z * E::WIDTH;
    int first_looks = t.causal && at.first > t.past ? (int)(at.first - t.past) : 0;
    int first_query = first_looks / E::COLUMNS * E::COLUMNS;
    int tiles = first_query < q_length ? (q_length - first_query - 1) / E::COLUMNS + 1 : 0;
    E engine;
    auto fetch_queries = [&](int n) {
        int head = first_head + n / tiles, first = first_query + n % tiles * E::COLUMNS;
        engine.fetch(PASSES, matrix_of(t.q, t.operands, t.q_layout, at.batch, head, first,
                                       t.q_length, t.head));
        engine.commit();
        engine.fetch(PASSES_TOO, matrix_of(b.dy, t.results, t.y_layout, at.batch, head, first,
                                           t.q_length, t.v_head));
        engine.commit();
    };
    float dk[E::HELD][E::WIDE] = {}, dv[E::HELD][E::WIDE] = {};
    engine.fetch(STAYS, matrix_of(t.k, t.operands, t.k_layout, at.batch, at.head, at.first,
                                  t.k_length, t.head));
    engine.fetch(STAYS_TOO, matrix_of(t.v, t.operands, t.v_layout, at.batch, at.head, at.first,
                                      t.k_length, t.v_head));
    if (tiles > 0)
        fetch_queries(0);
    for (int n = 0; n < group * tiles; n++) {
        int head = first_head + n / tiles, first = first_query + n % tiles * E::COLUMNS;
        float s[E::HELD][E::SPREAD], gradient[E::HELD][E::SPREAD];
        engine.template arrive<1>();
        engine.dot(s, STAYS, PASSES);
        engine.template arrive<0>();
        engine.dot(gradient, STAYS_TOO, PASSES_TOO);
        attention_query query[E::SPREAD];
#pragma unroll
        for (int j = 0; j < E::SPREAD; j++)
            query[j] = query_of(b, at.batch, head, first + E::column(j));
        attention_score<attention_tile<E, true>, E>(
            s, attention_rule_of(t, at.batch, head, first, at.first));
        differentiate<E, true>(s, gradient, t, drop_rule_of(t, at.batch, head, first, at.first),
                               words, [&](int, int j) { return query[j]; });
        if (from < t.v_head)
            engine.add(dv, s, PASSES_TOO, from);
        if (from < t.head)
            engine.add(dk, gradient, PASSES, from);
        engine.leave();
        if (n + 1 < group * tiles)
            fetch_queries(n + 1);
    }
    if (b.dk)
        write_gradients<E>(t, b.dk, t.k_layout, at, t.k_length, t.head, t.scale, dk);
    if (b.dv)
        write_gradients<E>(t, b.dv, t.v_layout, at, t.k_length, t.v_head, 1.0f, dv);
}

/* Tiles of the mask along its axes, 1 where it is the same for all. */
struct mask_tiles {
    int64_t batches, heads, queries, keys;
};

static mask_tiles mask_tiles_of(const launch_attention &t, int rows, int columns)
{
    return {t.mask_stride[0] ? t.batch : 1, t.mask_stride[1] ? t.q_heads : 1,
            t.mask_stride[2] ? tiles_of(t.q_length, rows) : 1, tiles_of(t.k_length, columns)};
}

/* A tile of the mask's gradient, which begins at that query and key. */
template <class E>
static __device__ __forceinline__ void write_mask(const launch_attention &t, float *dmask,
                                                  int64_t query, int64_t key,
                                                  const float sums[E::HELD][E::SPREAD])
{
#pragma unroll
    for (int i = 0; i < E::HELD; i++)
#pragma unroll
        for (int j = 0; j < E::SPREAD; j++) {
            int64_t row = query + E::row(i), column = key + E::column(j);
            if (IN(row < t.q_length) && IN(column < t.k_length))
                dmask[row * LD(t.mask_stride[2]) + column] = sums[i][j];
        }
}

/* Likewise of a mask that is the same for all queries: the sums of the tile's columns. */
template <class E>
static __device__ __forceinline__ void write_mask_row(const launch_attention &t, float *dmask,
                                                      int64_t key,
                                                      const float sums[E::HELD][E::SPREAD])
{
    enum { GROUPS = E::THREADS / E::LANES }; /* of threads that share their rows */
    SHARED(float, part, [GROUPS][E::COLUMNS]);
#pragma unroll
    for (int j = 0; j < E::SPREAD; j++) {
        float sum = sums[0][j];
#pragma unroll
        for (int i = 1; i < E::HELD; i++)
            sum += sums[i][j];
        part[(int)threadIdx.x / E::LANES][E::column(j)] = sum;
    }
    __syncthreads();
    int column = (int)threadIdx.x;
    if (column >= E::COLUMNS || !IN(key + column < t.k_length))
        return;
    float sum = part[0][column];
    for (int group = 1; group < GROUPS; group++)
        sum += part[group][column];
    dmask[key + column] = sum;
}

/* grid: tiles of keys of every tile of queries, head and batch of the mask */
template <class E>
static KERNEL_BLOCKS(E::THREADS, MASK_BLOCKS, attend_bwd_mask, launch_attention_bwd b, mask_tiles n)
{
    if constexpr (E::NEEDS_SM_80 && BEFORE_SM_80)
        return;
    const launch_attention &t = b.of;
    int64_t plane = blockIdx.x / (n.keys * n.queries), group = t.q_heads / t.kv_heads;
    int64_t first_query = blockIdx.x / n.keys % n.queries * E::ROWS;
    int64_t first_key = blockIdx.x % n.keys * E::COLUMNS;
    philox words = philox_of(t.drop);
    E engine;
    float sums[E::HELD][E::SPREAD] = {};
    auto add = [&](int64_t batch, int64_t head, int64_t query) {
        float s[E::HELD][E::SPREAD], gradient[E::HELD][E::SPREAD];
        attention_query queries[E::HELD];
#pragma unroll
        for (int i = 0; i < E::HELD; i++)
            queries[i] = query_of(b, batch, head, query + E::row(i));
        engine.fetch(
            STAYS, matrix_of(t.q, t.operands, t.q_layout, batch, head, query, t.q_length, t.head));
        engine.fetch(STAYS_TOO, matrix_of(b.dy, t.results, t.y_layout, batch, head, query,
                                          t.q_length, t.v_head));
        engine.fetch(PASSES, matrix_of(t.k, t.operands, t.k_layout, batch, head / group, first_key,
                                       t.k_length, t.head));
        engine.fetch(PASSES_TOO, matrix_of(t.v, t.operands, t.v_layout, batch, head / group,
                                           first_key, t.k_length, t.v_head));
        engine.commit();
        engine.template arrive<0>();
        engine.dot(s, STAYS, PASSES);
        engine.dot(gradient, STAYS_TOO, PASSES_TOO);
        attention_score<attention_tile<E, false>, E>(
            s, attention_rule_of(t, batch, head, query, first_key));
        differentiate<E, false>(s, gradient, t, drop_rule_of(t, batch, head, query, first_key),
                                words, [&](int i, int) { return queries[i]; });
#pragma unroll
        for (int i = 0; i < E::HELD; i++)
#pragma unroll
            for (int j = 0; j < E::SPREAD; j++)
                sums[i][j] += gradient[i][j];
        engine.leave();
    };
    for (int64_t batch = plane / n.heads; batch < t.batch; batch += n.batches)
        for (int64_t head = plane % n.heads; head < t.q_heads; head += n.heads)
            for (int64_t query = first_query; query < t.q_length; query += n.queries * E::ROWS)
                if (first_key < attention_limit(t, query + E::ROWS))
                    add(batch, head, query);
    int64_t at = plane / n.heads * LD(t.mask_stride[0]) + plane % n.heads * LD(t.mask_stride[1]);
    if (t.mask_stride[2])
        write_mask<E>(t, b.dmask + at, first_query, first_key, sums);
    else
        write_mask_row<E>(t, b.dmask + at, first_key, sums);
}

template <class E> static void start(cuda_stream stream, const launch_attention_bwd *b)
{
    const launch_attention *t = &b->of;
    int64_t rows = t->batch * t->q_heads * t->q_length;
    int64_t width = t->head > t->v_head ? t->head : t->v_head;
    int64_t q_tiles = tiles_of(t->q_length, E::ROWS), k_tiles = tiles_of(t->k_length, E::ROWS);
    size_t shared = E::shared(2);
    launch_attention_bwd with = *b;
    if (rows > 0)
        LAUNCH(attend_bwd_delta, dim3((unsigned)tiles_of(rows, DELTA_THREADS / 32)),
               dim3(DELTA_THREADS), 0, stream, with, rows);
    if (b->dq && rows > 0) {
        dim3 grid((unsigned)(q_tiles * t->q_heads * t->batch), 1,
                  (unsigned)tiles_of(t->head, E::WIDTH));
        ALLOW_SHARED(attend_bwd_queries<E>, shared);
        LAUNCH(attend_bwd_queries<E>, grid, dim3(E::THREADS), shared, stream, with);
    }
    if ((b->dk || b->dv) && k_tiles * t->batch > 0) {
        dim3 grid((unsigned)(k_tiles * t->kv_heads * t->batch), 1,
                  (unsigned)tiles_of(width, E::WIDTH));
        ALLOW_SHARED(attend_bwd_keys<E>, shared);
        LAUNCH(attend_bwd_keys<E>, grid, dim3(E::THREADS), shared, stream, with);
    }
    if (b->dmask && rows * t->k_length > 0) {
        mask_tiles n = mask_tiles_of(*t, E::ROWS, E::COLUMNS);
        dim3 grid((unsigned)(n.batches * n.heads * n.queries * n.keys));
        ALLOW_SHARED(attend_bwd_mask<E>, shared);
        LAUNCH(attend_bwd_mask<E>, grid, dim3(E::THREADS), shared, stream, with, n);
    }
}

void launch_attention_backward(cuda_stream stream, const launch_attention_bwd *b)
{
    attention_choose(b->of, 2, [&](auto e) { start<typename decltype(e)::type>(stream, b); });
}
