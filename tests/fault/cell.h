/*
 * One cell of the kill matrix: a message, a role that says or hears it, and the job in which a task
 * of that role is killed at exactly that message. Threads: one.
 */
#ifndef TEQUIO_TESTS_FAULT_CELL_H
#define TEQUIO_TESTS_FAULT_CELL_H

#include "common/wire/wire.h"

#include <stdio.h>

typedef struct cell {
    wire_type message;
    role who;
    bool is_sent;
    const char *phase;
} cell;

/* All that the grammar makes possible. *ret_n of them, in the grammar's order; static. */
const cell *cell_all(size_t *ret_n);

/* At which of the messages, counted from 1: the first, or one drawn from those that are sure. */
int cell_points(const cell *c, uint64_t seed, int ret[2]);

/* Plays it in `dir`. True when the kill fired and the job came to its end with the weights and the
 * number of batches of the undisturbed one; otherwise says on standard output what is wrong. */
bool cell_play(const cell *c, int number, const char *dir);

/* "PUSH worker sent" */
void cell_print(const cell *c, FILE *to);

#endif
