/* See arcs.h. */
#include "metric/arcs.h"

#include <math.h>

typedef struct best {
    int64_t at; /* -1: nothing was looked at */
    float score;
} best;

static void look(best *b, int64_t at, float score)
{
    if (isnan(score) || (isinf(score) && score > 0))
        score = NAN;
    if (b->at < 0 || isnan(score) || score > b->score)
        *b = (best){at, score};
}

static best best_head(const arc_scores *s, const unsigned char *is_word, int64_t i)
{
    const float *of = s->heads + i * (s->places + 1);
    best b = {.at = -1};
    look(&b, 0, of[0]);
    for (int64_t k = 0; k < s->places; k++)
        if (is_word[k] && k != i)
            look(&b, k + 1, of[k + 1]);
    return b;
}

static best best_tag(const arc_scores *s, int64_t i, int64_t head)
{
    const float *of = s->tags + (s->tags_of_heads ? i * (s->places + 1) + head : i) * s->n_tags;
    best b = {.at = -1};
    for (int64_t k = 0; k < s->n_tags; k++)
        look(&b, k, of[k]);
    return b;
}

void arcs_decode(const arc_scores *s, const unsigned char *is_word, int64_t *ret_heads, int64_t *ret_tags,
                 float *ret_scores)
{
    for (int64_t i = 0; i < s->places; i++) {
        ret_heads[i] = ret_tags[i] = ARC_NO_HEAD;
        ret_scores[i] = 0.0f;
        if (!is_word[i])
            continue;
        best head = best_head(s, is_word, i), tag = best_tag(s, i, head.at);
        ret_heads[i] = head.at;
        ret_tags[i] = tag.at;
        ret_scores[i] = head.score + tag.score;
    }
}
