/* `tequio tables`: the machines, GPUs, regions and fields that job files name. */
#include "cli/commands.h"
#include "common/base/alloc.h"
#include "job/spec/machines.h"
#include "job/spec/schema.h"

#include <stdio.h>
#include <string.h>

/* What becomes of the fields of a job file, but those within what is not taken itself. */
static void print_fields(void)
{
    static const char *const uses[] = {"taken", "ignored", "refused"};
    printf("message,field,use,note\n");
    for (size_t i = 0; i < field_count; i++)
        if (field_table[i].use != FIELD_CHECKED)
            printf("%s,%s,%s,\"%s\"\n", field_table[i].message, field_table[i].name,
                   uses[field_table[i].use], field_table[i].note);
}

static int run_tables(const args *a, error *err)
{
    const char *name = a->n_operands ? a->operands[0] : "machines";
    if (strcmp(name, "fields") == 0) {
        print_fields();
        return 0;
    }
    const char *table = machines_table(name);
    if (!table)
        return status_exit_code(
            FAIL(err, E_USAGE,
                 "tables: there is no table '%s'; there are machines, accelerated, limits, legacy, "
                 "regions, mixes, tiers and fields",
                 name));
    fputs(table, stdout);
    return 0;
}

const command command_tables = {
    .name = "tables",
    .operands = "[TABLE]",
    .max_operands = 1,
    .summary = "Show the machines, GPUs, regions and fields that job files name.",
    .about = "Prints a table as comma-separated values. machines: Compute Engine's machines, and how many "
             "GPUs of each type go with them. accelerated: those that have their GPUs built in. limits: "
             "the largest machine for so many GPUs. legacy: AI "
             "Platform's own names. regions: where GPUs are offered. mixes: types of GPU that no zone of "
             "a region offers together. tiers: what scale tiers stand for. fields: what becomes of each field of "
             "a job file.",
    .run = run_tables,
};
