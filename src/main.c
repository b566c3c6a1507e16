/* tequio: main only starts cli/cli.c; the table of subcommands is in cli/commands.c. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
