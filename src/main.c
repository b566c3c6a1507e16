/* tequio: the table of subcommands lives in cli/cli.h; main only starts it. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
