/*
 * "Did you mean": the nearest known word by the number of slips (a letter more, less, other, or two
 * neighbours swapped). The earliest of equally near words wins, so the answer is stable. Where none is near, one that
 * has all parts of the word in their order, as transformer_model_name those of transformer_name, or the word all of
 * its.
 */
#include "common/config/config.h"

#include <string.h>

enum { LONGEST = 64 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Optimal string alignment over three rows; both words are at most LONGEST long. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t other = a[i - 1] != b[j - 1];
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + other);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

/* Parted by underscores: are those of `few`, two at least, among those of `many`, in their order? */
static bool has_parts(const char *many, const char *few)
{
    bool has_two = strchr(few, '_') != NULL;
    while (*few && *many) {
        size_t n = strcspn(few, "_"), m = strcspn(many, "_");
        if (n == m && memcmp(few, many, n) == 0)
            few += n + (few[n] == '_');
        many += m + (many[m] == '_');
    }
    return has_two && !*few;
}

static const char *of_same_parts(const char *word, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t length = strlen(word), least = 0;
    for (size_t i = 0; i < n; i++) {
        size_t m = strlen(names[i]), apart = m > length ? m - length : length - m;
        if ((has_parts(names[i], word) || has_parts(word, names[i])) && (!best || apart < least)) {
            best = names[i];
            least = apart;
        }
    }
    return best;
}

const char *config_did_you_mean(const char *word, const char *const *names, size_t n)
{
    size_t length = strlen(word);
    if (length > LONGEST)
        return NULL;
    const char *best = NULL;
    size_t best_distance = 2 + length / 4;
    for (size_t i = 0; i < n; i++) {
        size_t name_length = strlen(names[i]);
        if (name_length > LONGEST)
            continue;
        size_t d = distance(word, length, names[i], name_length);
        if (d < best_distance) {
            best = names[i];
            best_distance = d;
        }
    }
    return best ? best : of_same_parts(word, names, n);
}
