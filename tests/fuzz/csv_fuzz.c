/* Tables from a stranger: rows are counted and cells end, whatever the bytes; every kind of column
 * takes or refuses its words, and reads them again by the vocabulary it made of them. */
#include "common/base/alloc.h"
#include "data/column.h"
#include "data/csv.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { ROWS = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first cell of each row; returns how many rows were taken. */
static size_t read_column(column *c, const uint8_t *data, size_t size)
{
    csv rows;
    size_t n = 0;
    bool more = true;
    csv_open(&rows, data, size, ',', "fuzz");
    while (n < ROWS && csv_next(&rows, &more, NULL) == OK && more) {
        BUG_ON(rows.n_cells == 0 || rows.row_line > rows.line);
        for (size_t i = 0; i < rows.n_cells; i++)
            BUG_ON(strlen(csv_cell(&rows, i)) > size);
        const char *word = csv_cell(&rows, 0);
        if (column_take(c, n, *word ? word : NULL, NULL) == OK)
            n++;
    }
    csv_close(&rows);
    column_finish(c, n);
    return n;
}

static void check(const column *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c->kind == COLUMN_NUMBER)
            BUG_ON(isnan(c->numbers[i]));
        else
            BUG_ON(c->ids[i] < 0 || c->ids[i] >= column_size(c));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const column kinds[] = {
        {.name = "number", .kind = COLUMN_NUMBER, .scaling = SCALING_STANDARDIZE},
        {.name = "logarithm", .kind = COLUMN_NUMBER, .scaling = SCALING_LOG},
        {.name = "category", .kind = COLUMN_CATEGORY},
        {.name = "bucket", .kind = COLUMN_CATEGORY, .buckets = 7},
        {.name = "class", .kind = COLUMN_CLASS},
    };
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        column first = kinds[k], again = kinds[k];
        if (column_begin(&first, ROWS, NULL) != OK)
            return 0;
        size_t n = read_column(&first, data, size);
        check(&first, n);
        json_t *vocabulary = column_vocabulary(&first);
        BUG_ON(column_load(&again, vocabulary, "vocabulary", NULL) != OK);
        BUG_ON(column_begin(&again, ROWS, NULL) != OK || read_column(&again, data, size) != n);
        check(&again, n);
        for (size_t i = 0; i < n && first.kind != COLUMN_NUMBER; i++)
            BUG_ON(first.ids[i] != again.ids[i]);
        json_decref(vocabulary);
        column_fini(&first);
        column_fini(&again);
    }
    return 0;
}
