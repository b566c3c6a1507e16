/* RoiAlign and its gradient: a thread a plane of y, or of x's gradient, which regions are added to in
 * their order. */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/roi_of.h"

#include <inttypes.h>
#include <string.h>

typedef struct roi_task {
    const roi_pool *s;
    const float *x, *rois, *dy;
    const int64_t *images;
    float *y, *dx;
} roi_task;

static void find_bins(const roi_task *t, int64_t region, roi_bins *down, roi_bins *across)
{
    const roi_pool *s = t->s;
    const float *box = t->rois + 4 * region;
    *across = roi_bins_of(s, box[0], box[2], s->columns, s->width);
    *down = roi_bins_of(s, box[1], box[3], s->rows, s->height);
}

static void pool_planes(int64_t begin, int64_t end, void *arg)
{
    const roi_task *t = arg;
    const roi_pool *s = t->s;
    for (int64_t p = begin; p < end; p++) {
        int64_t region = p / s->channels, plane = t->images[region] * s->channels + p % s->channels;
        roi_bins down, across;
        find_bins(t, region, &down, &across);
        for (int64_t i = 0; i < s->rows * s->columns; i++)
            t->y[p * s->rows * s->columns + i] =
                roi_value(s, &down, &across, i / s->columns, i % s->columns,
                          t->x + plane * s->height * s->width);
    }
}

static void spread_planes(int64_t begin, int64_t end, void *arg)
{
    const roi_task *t = arg;
    const roi_pool *s = t->s;
    int64_t size = s->height * s->width, bins = s->rows * s->columns;
    for (int64_t p = begin; p < end; p++) {
        const float *x = t->x + p * size;
        float *dx = t->dx + p * size;
        memset(dx, 0, (size_t)size * sizeof *dx);
        for (int64_t r = 0; r < s->regions; r++) {
            const float *dy = t->dy + (r * s->channels + p % s->channels) * bins;
            roi_bins down, across;
            if (t->images[r] != p / s->channels)
                continue;
            find_bins(t, r, &down, &across);
            if (s->largest)
                roi_spread_largest(s, &down, &across, dy, x, 0, size, dx);
            else
                roi_spread(s, &down, &across, dy, 0, size, dx);
        }
    }
}

static status check_images(const roi_pool *s, const int64_t *images, error *err)
{
    for (int64_t r = 0; r < s->regions; r++)
        if (images[r] < 0 || images[r] >= s->images)
            return FAIL(err, E_DATA,
                        "region %" PRId64 " is of image %" PRId64 ", outside 0..%" PRId64, r,
                        images[r], s->images - 1);
    return OK;
}

static status run_roi_align(const cpu_node *n, const cpu_call *c, error *err)
{
    const roi_pool *s = n->state;
    roi_task t = {.s = s, .x = c->in[0], .rois = c->in[1], .images = c->in[2], .y = c->out[0]};
    TRY(check_images(s, t.images, err));
    team_for(s->regions * s->channels, 1, pool_planes, &t);
    return OK;
}

static status run_roi_align_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    const roi_pool *s = n->state;
    roi_task t = {.s = s,
                  .dy = c->in[0],
                  .x = c->in[1],
                  .rois = c->in[2],
                  .images = c->in[3],
                  .dx = c->out[0]};
    TRY(check_images(s, t.images, err));
    team_for(s->images * s->channels, 1, spread_planes, &t);
    return OK;
}

status cpu_plan_roi_align(cpu_node *n)
{
    bool backward = n->node->op == OP_ROI_ALIGN_BWD;
    roi_pool *s = node_alloc(n, sizeof *s);
    *s = roi_of(n->node->attr, &node_in(n, backward)->shape, &node_in(n, 1 + backward)->shape);
    n->body = backward ? run_roi_align_bwd : run_roi_align;
    n->state = s;
    return OK;
}
