/* How many open files this process may have, for messages (descriptors.h). Any thread. */
#ifndef TEQUIO_COMMON_BASE_DESCRIPTOR_LIMIT_H
#define TEQUIO_COMMON_BASE_DESCRIPTOR_LIMIT_H

#include <stddef.h>
#include <stdint.h>

int64_t descriptor_limit(void);

/* What the process needs as a rule, which descriptor_limit_explain says from now on. */
void descriptor_limit_needed(int64_t about);

/* Adds to a text that speaks of too many open files what the limit is and how it is raised. */
void descriptor_limit_explain(char *text, size_t bytes);

#endif
