/* `tequio task`: runs one task for a launcher on another host. */
#include "cli/commands.h"
#include "job/ssh/remote.h"

static int run_task(const args *a, error *err)
{
    (void)a;
    return remote_serve(err);
}

const command command_task = {
    .name = "task",
    .operands = "",
    .summary = "Play one task for a launcher on another host.",
    .about = "Reads from standard input what to run, as `tequio submit --target ssh` writes it, and runs it "
             "until it ends or the input does; or which file to write out. It is nothing to type.",
    .run = run_task,
};
