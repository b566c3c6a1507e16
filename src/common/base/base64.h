/* Base64 (RFC 4648, with padding), by libsodium. Threads: pure. */
#ifndef TEQUIO_COMMON_BASE_BASE64_H
#define TEQUIO_COMMON_BASE_BASE64_H

#include "common/base/buf.h"

#include <stdbool.h>

/* Appends the bytes. False: the text is no base64, and nothing is appended. */
bool base64_read(const char *text, size_t n, buf *ret);
void base64_write(const void *data, size_t n, buf *ret);       /* appends the text */

#endif
