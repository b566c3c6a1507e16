/*
 * Prints what the kill matrix has shown, as a table, and fails on a cell that is empty.
 *
 *   coverage FOLDER     what the shares of kill_matrix left there: "PUSH worker sent KILLS"
 */
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "fault/cell.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 6 };

/* By role and way; evaluators say nothing. */
static int column_of(role who, bool is_sent)
{
    return 2 * (int)who + !is_sent;
}

static void read_share(const char *path, int kills[WIRE_TYPE_END][COLUMNS])
{
    FILE *f = fopen(path, "re");
    char message[32], who[16], way[16];
    int n;
    while (f && fscanf(f, "%31s %15s %15s %d", message, who, way, &n) == 4)
        for (int m = 1; m < WIRE_TYPE_END; m++) {
            role r;
            if (strcmp(message, wire_type_name((wire_type)m)) == 0 && role_of(who, &r) &&
                r < ROLE_EVALUATOR)
                kills[m][column_of(r, strcmp(way, "sent") == 0)] += n;
        }
    if (f)
        fclose(f);
}

static void read_shares(const char *folder, int kills[WIRE_TYPE_END][COLUMNS])
{
    char **names = NULL;
    size_t n = 0;
    if (fs_list(folder, &names, &n, NULL) != OK)
        return;
    for (size_t i = 0; i < n; i++) {
        char *path = xasprintf("%s/%s", folder, names[i]);
        read_share(path, kills);
        free(path);
    }
    fs_list_free(names, n);
}

/* A line of the table; returns how many of its cells are empty. */
static int print_message(wire_type message, const char *phase, const bool possible[COLUMNS],
                         const int kills[COLUMNS])
{
    int n_empty = 0;
    printf("%-10s %-6s", wire_type_name(message), phase);
    for (int c = 0; c < COLUMNS; c++) {
        char text[16];
        snprintf(text, sizeof text, "%d", kills[c]);
        bool is_empty = possible[c] && !kills[c];
        printf(" %9s", !possible[c] ? "." : is_empty ? "EMPTY" : text);
        n_empty += is_empty;
    }
    printf("\n");
    return n_empty;
}

int main(int argc, char **argv)
{
    static int kills[WIRE_TYPE_END][COLUMNS];
    static bool possible[WIRE_TYPE_END][COLUMNS];
    const char *phases[WIRE_TYPE_END] = {NULL};
    size_t n_cells;
    const cell *cells = cell_all(&n_cells);
    for (size_t i = 0; i < n_cells; i++) {
        possible[cells[i].message][column_of(cells[i].who, cells[i].is_sent)] = true;
        phases[cells[i].message] = cells[i].phase;
    }
    if (argc > 1)
        read_shares(argv[1], kills);
    printf("killed when it    master             worker             ps\n"
           "message    phase  says      hears     says      hears     says      hears\n");
    int n_empty = 0;
    for (int m = 1; m < WIRE_TYPE_END; m++)
        if (phases[m])
            n_empty += print_message((wire_type)m, phases[m], possible[m], kills[m]);
    printf("%zu cells, %d empty\n", n_cells, n_empty);
    return n_empty > 0;
}
