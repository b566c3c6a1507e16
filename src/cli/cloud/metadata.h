/*
 * Compute Engine's metadata server, asked for values that change. Each is read at once; from then
 * on a request for it stays open until the value is another (wait_for_change, "Querying metadata"
 * in Compute Engine's manual). The server is metadata.google.internal, or GCE_METADATA_HOST, as in
 * Google's own libraries: "host" or "host:port".
 *
 * HTTP is libcurl's, which is opened when it is needed (docs/decisions/019). No proxy is asked, and
 * no answer is believed that does not say Metadata-Flavor: Google.
 *
 * Threads: metadata_open by the main thread before it starts others; then one thread asks, and any
 * may wake it.
 */
#ifndef TEQUIO_CLI_CLOUD_METADATA_H
#define TEQUIO_CLI_CLOUD_METADATA_H

#include "common/base/error.h"

#include <stddef.h>

typedef struct metadata metadata;

enum { METADATA_KEYS = 4, METADATA_VALUE = 256 };

/* `keys` are paths as "instance/preempted", kept until it is closed. E_CONFIG: there is no libcurl.
 */
MUST_USE status metadata_open(const char *const *keys, size_t n, metadata **ret, error *err);
void metadata_close(metadata **m);

/* Waits until some key is answered, for about a minute at most: which, and its value, the old one
 * too, with ? for what cannot be printed. E_IO: it could not be read, and is asked for again after
 * five seconds; E_ABORTED: woken for good. */
MUST_USE status metadata_next(metadata *m, size_t *ret_key, char ret_value[METADATA_VALUE],
                              error *err);
void metadata_wake(metadata *m);

#endif
