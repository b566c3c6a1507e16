/* More tasks on this machine than its CPUs can serve. Threads: any. */
#ifndef TEQUIO_CLI_RUN_OVERSUBSCRIPTION_H
#define TEQUIO_CLI_RUN_OVERSUBSCRIPTION_H

/* Warns on standard error where of `tasks` many more train than there are CPUs; `remedy` says how
 * there are fewer. */
void oversubscription_warn(int tasks, int training, const char *remedy);

#endif
