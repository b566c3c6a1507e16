/*
 * What a lane's variants take of its memory, and how they come to take no more than a budget: by computing some
 * values of forward once more in backward (graph/recompute.h). Threads: as variant.h.
 */
#ifndef TEQUIO_EXEC_FOOTPRINT_H
#define TEQUIO_EXEC_FOOTPRINT_H

#include "exec/exec.h"
#include "exec/variant.h"

/* Of variants that share slabs; without sums of gradients. `layout` may be NULL. */
exec_memory footprint_of(const variant *variants, size_t n, const flat *layout);

/* Has them computed again until all, with `beside` more bytes, fits into `budget`; 0: there is none. *ret is then
 * what they take. E_NOMEM says the least that could be had. */
MUST_USE status footprint_fit(variant *variants, size_t n, const flat *layout, size_t beside, size_t budget,
                              exec_memory *ret, error *err);

#endif
