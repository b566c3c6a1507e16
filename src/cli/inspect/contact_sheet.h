/*
 * `tequio inspect CONFIG --pictures FILE`: a batch of the training data as the model sees it, changes and all, in one
 * picture, with what is said of each beneath it. Main thread only.
 */
#ifndef TEQUIO_CLI_INSPECT_CONTACT_SHEET_H
#define TEQUIO_CLI_INSPECT_CONTACT_SHEET_H

#include "cli/line/command.h"

/* Writes it, and says on standard output what it shows. E_CONFIG: the data have no pictures. */
MUST_USE status inspect_contact_sheet(const args *a, error *err);

#endif
