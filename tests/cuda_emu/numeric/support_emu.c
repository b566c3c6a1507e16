/* Runs of a test take opposite schedules of the emulation in turn. */
#include "cuda_emu/machine.h"
#include "numeric/support_tested.h"

void tested_turn(int turn)
{
    emu_schedule_set(turn % 2 ? EMU_DESCENDING | EMU_EAGER | EMU_RUSH : 0);
}
