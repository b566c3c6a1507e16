/* See label_loss.h. */
#include "metric/label_loss.h"

#include "common/base/detmath.h"
#include "metric/kind.h"

#include <math.h>

metric_softmax metric_softmax_of(const metric_source *s, const metric_batch *b, int64_t i)
{
    metric_softmax x = {.top = (double)metric_score(s, b, i, 0), .sum = 0.0};
    for (int64_t c = 1; c < s->classes; c++)
        x.top = fmax(x.top, (double)metric_score(s, b, i, c));
    for (int64_t c = 0; c < s->classes; c++)
        x.sum += det_exp((double)metric_score(s, b, i, c) - x.top);
    return x;
}

static double loss_of_class(const metric_source *s, const metric_batch *b, int64_t i)
{
    metric_softmax x = metric_softmax_of(s, b, i);
    double score = (double)metric_score(s, b, i, b->labels[i]);
    return isfinite(score) ? det_log(x.sum) - (score - x.top) : (double)INFINITY;
}

static double loss_of_odds(double odds, double yes)
{
    if (isinf(odds))
        return (odds > 0.0) == (yes > 0.5) ? 0.0 : (double)INFINITY;
    return fmax(odds, 0.0) - odds * yes + det_log(1.0 + det_exp(-fabs(odds)));
}

static double loss_of_chance(double chance, double yes)
{
    enum { MOST = 100 };
    double if_yes = fmin(-det_log(chance), MOST), if_no = fmin(-det_log(1.0 - chance), MOST);
    return yes * if_yes + (1.0 - yes) * if_no;
}

double metric_label_loss(const metric_source *s, const metric_batch *b, int64_t i)
{
    if (s->input == METRIC_CLASSES)
        return loss_of_class(s, b, i);
    double score = (double)b->scores[i], label = b->labels ? (double)b->labels[i] : (double)b->targets[i];
    if (s->input == METRIC_YES_NO)
        return s->is_odds ? loss_of_odds(score, label) : loss_of_chance(score, label);
    return (score - label) * (score - label);
}
