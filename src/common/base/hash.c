#include "common/base/hash.h"

#include "common/base/error.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

void sha256_begin(sha256 *h)
{
    h->context = EVP_MD_CTX_new();
    if (!h->context || EVP_DigestInit_ex(h->context, EVP_sha256(), NULL) != 1)
        BUG("libcrypto has no SHA-256");
}

void sha256_add(sha256 *h, const void *data, size_t bytes)
{
    if (EVP_DigestUpdate(h->context, data, bytes) != 1)
        BUG("libcrypto does not go on with a SHA-256");
}

void sha256_drop(sha256 *h)
{
    EVP_MD_CTX_free(h->context);
    h->context = NULL;
}

void sha256_end(sha256 *h, char ret_hex[SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[SHA256_BYTES];
    if (EVP_DigestFinal_ex(h->context, digest, NULL) != 1)
        BUG("libcrypto does not end a SHA-256");
    sha256_drop(h);
    for (int i = 0; i < SHA256_BYTES; i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 15];
    }
    ret_hex[2 * SHA256_BYTES] = '\0';
}

void sha256_hex(const void *data, size_t bytes, char ret_hex[SHA256_HEX])
{
    sha256 h;
    sha256_begin(&h);
    sha256_add(&h, data, bytes);
    sha256_end(&h, ret_hex);
}

enum { CRC32C_REVERSED = 0x82f63b78 };

static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_fill(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? (c >> 1) ^ (uint32_t)CRC32C_REVERSED : c >> 1;
        crc_table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int t = 1; t < 8; t++)
            crc_table[t][i] = (crc_table[t - 1][i] >> 8) ^ crc_table[0][crc_table[t - 1][i] & 255];
}

/* Eight bytes a turn ("slicing by 8", Kounavis and Berry 2005). */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
    pthread_once(&crc_once, crc_fill);
    const unsigned char *p = data;
    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        word ^= crc;
        crc = crc_table[7][word & 255] ^ crc_table[6][word >> 8 & 255] ^
              crc_table[5][word >> 16 & 255] ^ crc_table[4][word >> 24 & 255] ^
              crc_table[3][word >> 32 & 255] ^ crc_table[2][word >> 40 & 255] ^
              crc_table[1][word >> 48 & 255] ^ crc_table[0][word >> 56];
    }
    for (; bytes; bytes--, p++)
        crc = (crc >> 8) ^ crc_table[0][(crc ^ *p) & 255];
    return ~crc;
}

uint32_t crc32c_masked(const void *data, size_t bytes)
{
    uint32_t crc = crc32c(0, data, bytes);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

uint64_t fnv1a(const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}
