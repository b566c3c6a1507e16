/*
 * The kill matrix: for every message, every role that says or hears it, a job in which a task of
 * that role is killed at exactly that message. Afterwards the weights and the number of batches are
 * those of a job nobody disturbed.
 *
 *   kill_matrix I/N [FOLDER]     the I-th of N shares of the cells; what was shown goes to FOLDER
 *   kill_matrix MESSAGE          the cells of one message
 *
 * KILL_SEED draws the points beyond the first message of a type.
 */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "fault/cell.h"
#include "fault/process_cluster.h"

#include <stdlib.h>
#include <string.h>

/* The I-th of N shares; every cell where a message is named instead. */
static bool is_ours(const char *share, const cell *c, size_t i)
{
    size_t mine = 0, n = 0;
    if (sscanf(share, "%zu/%zu", &mine, &n) == 2 && n)
        return i % n == mine - 1;
    return strcmp(share, wire_type_name(c->message)) == 0;
}

static bool play_cell(const cell *c, uint64_t seed, const char *dir, FILE *shown)
{
    int points[2], n = cell_points(c, seed, points), n_right = 0;
    int64_t begin = clock_us();
    for (int i = 0; i < n; i++)
        n_right += cell_play(c, points[i], dir);
    cell_print(c, stdout);
    printf(" killed at");
    for (int i = 0; i < n; i++)
        printf(" %d", points[i]);
    printf(": %s, %.1f s\n", n_right == n ? "the same weights" : "WRONG",
           (double)(clock_us() - begin) / 1e6);
    fflush(stdout);
    if (shown && n_right == n) {
        cell_print(c, shown);
        fprintf(shown, " %d\n", n_right);
        fflush(shown);
    }
    return n_right == n;
}

int main(int argc, char **argv)
{
    const char *share = argc > 1 ? argv[1] : "1/1", *text = getenv("KILL_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
    FILE *shown = NULL;
    char *path = NULL;
    if (argc > 2) {
        path = xasprintf("%s/%.*s", argv[2], (int)strcspn(share, "/"), share);
        shown = fopen(path, "we");
    }
    char *dir = process_cluster_folder();
    size_t n_cells, n_wrong = 0;
    const cell *cells = cell_all(&n_cells);
    for (size_t i = 0; i < n_cells; i++)
        if (is_ours(share, &cells[i], i))
            n_wrong += !play_cell(&cells[i], seed, dir, shown);
    printf("%zu wrong, seed %llu\n", n_wrong, (unsigned long long)seed);
    if (fs_remove_tree(dir, NULL) != OK)
        printf("left behind: %s\n", dir);
    if (shown)
        fclose(shown);
    free(path);
    free(dir);
    return n_wrong > 0;
}
