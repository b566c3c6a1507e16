#include "cli/train/lr_curve.h"

#include "cli/train/lr_plot.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "common/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SETTLED = 10, FILE_MOST = 1 << 30 };

static const double keeps = 0.98;

static void add(lr_losses *l, double rate, double loss)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 128;
        l->rate = xrealloc(l->rate, l->cap * sizeof *l->rate);
        l->loss = xrealloc(l->loss, l->cap * sizeof *l->loss);
    }
    l->rate[l->n] = rate;
    l->loss[l->n++] = loss;
}

/* One line; false: the search ends here. */
static bool take_line(lr_losses *l, const json_t *line, double stop, double *best)
{
    const json_t *loss = json_object_get(line, "loss");
    double x = json_number_value(loss);
    if (!json_is_number(loss) || !isfinite(x) || (stop > 0 && x > stop * *best))
        return false;
    if (!l->n)
        l->examples = json_integer_value(json_object_get(line, "examples"));
    if (x < *best && l->n > SETTLED)
        *best = x;
    add(l, json_number_value(json_object_get(line, "learning_rate")), x);
    return true;
}

static void smooth(lr_losses *l)
{
    double mean = 0, weight = 1;
    l->smooth = xcalloc(l->n + 1, sizeof *l->smooth);
    for (size_t i = 0; i < l->n; i++) {
        mean = keeps * mean + (1 - keeps) * l->loss[i];
        weight *= keeps;
        l->smooth[i] = mean / (1 - weight);
    }
}

status lr_losses_read(const char *path, double stop, lr_losses *ret, error *err)
{
    buf text = BUF_INIT;
    double best = INFINITY;
    TRY(fs_read(path, FILE_MOST, &text, err));
    bool goes_on = true;
    for (char *at = text.data, *end; goes_on && at && (end = strchr(at, '\n')); at = end + 1) {
        json_t *line = NULL;
        goes_on = json_parse(at, (size_t)(end - at), path, E_DATA, &line, NULL) == OK &&
                  take_line(ret, line, stop, &best);
        json_decref(line);
    }
    buf_fini(&text);
    smooth(ret);
    if (ret->n < 2)
        return FAIL(err, E_DATA, "the loss is finite in %zu steps only: a lower --start-lr may help", ret->n);
    return OK;
}

void lr_losses_fini(lr_losses *l)
{
    free(l->rate);
    free(l->loss);
    free(l->smooth);
    *l = (lr_losses){.n = 0};
}

static size_t lowest(const lr_losses *l)
{
    size_t at = 0;
    for (size_t i = 1; i < l->n; i++)
        at = l->smooth[i] < l->smooth[at] ? i : at;
    return at;
}

double lr_losses_lowest(const lr_losses *l)
{
    return l->rate[lowest(l)];
}

double lr_losses_fastest(const lr_losses *l)
{
    size_t end = lowest(l), at = 0;
    double most = 0;
    for (size_t i = 1; i <= end; i++)
        if (l->smooth[i - 1] - l->smooth[i] > most) {
            most = l->smooth[i - 1] - l->smooth[i];
            at = i;
        }
    return l->rate[at];
}

status lr_losses_write(const lr_losses *l, const char *path, error *err)
{
    buf text = BUF_INIT;
    buf_adds(&text, "learning_rate,loss,smoothed\n");
    for (size_t i = 0; i < l->n; i++)
        buf_addf(&text, "%.9g,%.9g,%.9g\n", l->rate[i], l->loss[i], l->smooth[i]);
    status st = fs_write_atomic(path, text.data, text.size, err);
    buf_fini(&text);
    return st;
}

status lr_losses_draw(const lr_losses *l, bool is_linear, const char *path, error *err)
{
    lr_curve curve = {.rate = l->rate, .loss = l->loss, .smooth = l->smooth, .n = l->n, .is_linear = is_linear};
    return lr_plot_write(path, &curve, err);
}
