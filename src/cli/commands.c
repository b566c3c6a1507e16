#include "cli/commands.h"

#include "common/base/alloc.h"

static const command *const at[] = {
    &command_train,    &command_submit,   &command_local,    &command_plan,    &command_evaluate, &command_predict,
    &command_generate, &command_export,   &command_find_lr,  &command_find_batch_size,
    &command_tune,     &command_status,   &command_top,      &command_explain,  &command_logs,     &command_page,
    &command_track,    &command_inspect,  &command_bench,    &command_tokenize, &command_tables,   &command_doctor,
    &command_keygen,   &command_task,     &command_help,     &command_version,
};

const command_table commands = {at, COUNT_OF(at)};
