/*
 * What a device makes of images that are left to it (finish.h), made by the host: for who needs them there too.
 *
 * Threads: pure function.
 */
#ifndef TEQUIO_DATA_FINISH_BATCH_H
#define TEQUIO_DATA_FINISH_BATCH_H

#include "data/finish.h"

/* Of n examples; `ret` has float32, or bytes where these stay bytes, and is not `images`. */
void finish_batch(const finish_form *f, const finish_draw *draws, const void *images, int64_t n, void *ret);

#endif
