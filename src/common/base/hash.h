/*
 * Hashes. SHA-256 (FIPS 180-4, by libcrypto) for identity, CRC-32C (Castagnoli, RFC 3720) for
 * checksums of records, FNV-1a for tables and tensor ids. Threads: any; a state is one thread's.
 */
#ifndef TEQUIO_COMMON_BASE_HASH_H
#define TEQUIO_COMMON_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_HEX = 65 };

typedef struct sha256 {
    void *context; /* NULL: not begun, or ended */
} sha256;

/* What was begun is ended or dropped. */
void sha256_begin(sha256 *h);
void sha256_add(sha256 *h, const void *data, size_t bytes);
void sha256_end(sha256 *h, char ret_hex[SHA256_HEX]); /* lower-case hex, terminated */
void sha256_drop(sha256 *h);
void sha256_hex(const void *data, size_t bytes, char ret_hex[SHA256_HEX]);

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes); /* start with 0, chain at will */
uint32_t crc32c_masked(const void *data, size_t bytes); /* as TFRecord stores it */

uint64_t fnv1a(const void *data, size_t bytes);

#endif
