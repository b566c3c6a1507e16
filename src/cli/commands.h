/* The subcommands; each is defined in the file of its name, in one of the rooms below. Tables. */
#ifndef TEQUIO_CLI_COMMANDS_H
#define TEQUIO_CLI_COMMANDS_H

#include "cli/line/command.h"

/* All of them, in the order in which help lists them. */
extern const command_table commands;

extern const command command_train;
extern const command command_submit;
extern const command command_local;
extern const command command_find_lr;
extern const command command_find_batch_size;
extern const command command_tune;
extern const command command_plan;
extern const command command_evaluate;
extern const command command_predict;
extern const command command_export;
extern const command command_generate;
extern const command command_inspect;
extern const command command_status;
extern const command command_top;
extern const command command_explain;
extern const command command_logs;
extern const command command_page;
extern const command command_track;
extern const command command_bench;
extern const command command_tokenize;
extern const command command_tables;
extern const command command_task;
extern const command command_doctor;
extern const command command_keygen;
extern const command command_help;
extern const command command_version;

#endif
