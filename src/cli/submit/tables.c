/* `tequio tables`: the machines, GPUs and regions that job files name. */
#include "cli/commands.h"
#include "common/base/alloc.h"
#include "job/spec/machines.h"

#include <stdio.h>

static int run_tables(const args *a, error *err)
{
    const char *name = a->n_operands ? a->operands[0] : "machines";
    const char *table = machines_table(name);
    if (!table)
        return status_exit_code(
            FAIL(err, E_USAGE,
                 "tables: there is no table '%s'; there are machines, limits, legacy, regions, mixes "
                 "and tiers",
                 name));
    fputs(table, stdout);
    return 0;
}

const command command_tables = {
    .name = "tables",
    .operands = "[TABLE]",
    .max_operands = 1,
    .summary = "Show the machines, GPUs and regions that job files name.",
    .about = "Prints a table as comma-separated values. machines: Compute Engine's machines, and how many "
             "GPUs of each type go with them. limits: the largest machine for so many GPUs. legacy: AI "
             "Platform's own names. regions: where GPUs are offered. mixes: types of GPU that no zone of "
             "a region offers together. tiers: what scale tiers stand for.",
    .run = run_tables,
};
