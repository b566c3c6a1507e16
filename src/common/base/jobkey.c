#include "common/base/jobkey.h"

#include "common/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(JOBKEY_BYTES == crypto_kdf_KEYBYTES, "a key to derive from");
_Static_assert(JOBKEY_BYTES == crypto_scalarmult_SCALARBYTES, "a secret key");
_Static_assert(JOBKEY_BYTES == crypto_scalarmult_BYTES, "a public key");

static const char spaces[] = " \t\r\n";

status jobkey_make(jobkey *ret, error *err)
{
    if (sodium_init() < 0)
        return FAIL(err, E_FAIL, "make a key: the system gives no random numbers");
    randombytes_buf(ret->bytes, sizeof ret->bytes);
    return OK;
}

void jobkey_text(const jobkey *k, char ret[JOBKEY_TEXT])
{
    sodium_bin2hex(ret, JOBKEY_TEXT, k->bytes, sizeof k->bytes);
}

status jobkey_parse(const char *text, jobkey *ret, error *err)
{
    text += strspn(text, spaces);
    size_t digits = strcspn(text, spaces), n = 0;
    jobkey k;
    bool good = digits == JOBKEY_TEXT - 1 && !text[digits + strspn(text + digits, spaces)] &&
                sodium_hex2bin(k.bytes, sizeof k.bytes, text, digits, NULL, &n, NULL) == 0 &&
                n == sizeof k.bytes;
    if (good)
        *ret = k;
    sodium_memzero(&k, sizeof k);
    if (!good)
        return FAIL(err, E_CONFIG,
                    "not a key: it must be %d hexadecimal digits, as 'tequio keygen' prints them",
                    JOBKEY_TEXT - 1);
    return OK;
}

bool jobkey_equal(const jobkey *a, const jobkey *b)
{
    return jobkey_equal_bytes(a->bytes, b->bytes, sizeof a->bytes);
}

bool jobkey_equal_bytes(const void *a, const void *b, size_t bytes)
{
    return sodium_memcmp(a, b, bytes) == 0;
}

void jobkey_derive(const jobkey *k, jobkey_use use, jobkey_pair *ret)
{
    static const char context[crypto_kdf_CONTEXTBYTES + 1] = "tq-curve";
    if (crypto_kdf_derive_from_key(ret->secret, sizeof ret->secret, use, context, k->bytes) ||
        crypto_scalarmult_base(ret->public, ret->secret))
        BUG("libsodium derives no key");
}

void jobkey_derive_token(const jobkey *k, jobkey_use use, char ret[JOBKEY_TEXT])
{
    static const char context[crypto_kdf_CONTEXTBYTES + 1] = "tq-token";
    jobkey token;
    if (crypto_kdf_derive_from_key(token.bytes, sizeof token.bytes, use, context, k->bytes))
        BUG("libsodium derives no token");
    jobkey_text(&token, ret);
    sodium_memzero(&token, sizeof token);
}

void jobkey_wipe(void *data, size_t bytes)
{
    sodium_memzero(data, bytes);
}

static status check_mode(int fd, const char *path, error *err)
{
    struct stat s;
    if (fstat(fd, &s))
        return FAIL(err, E_IO, "look at '%s': %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode))
        return FAIL(err, E_CONFIG, "key file '%s': not a file", path);
    if (s.st_mode & (S_IRWXG | S_IRWXO))
        return FAIL(err, E_CONFIG,
                    "key file '%s': others than its owner may use it (mode %04o); chmod 600 it, "
                    "and make a new key if somebody may have read it",
                    path, (unsigned)s.st_mode & 07777);
    return OK;
}

status jobkey_read(const char *path, jobkey *ret, error *err)
{
    char text[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return FAIL(err, E_CONFIG, "key file '%s': %s", path, strerror(errno));
    status st = check_mode(fd, path, err);
    ssize_t n = st == OK ? read(fd, text, sizeof text - 1) : 0;
    if (n < 0)
        st = FAIL(err, E_IO, "read key file '%s': %s", path, strerror(errno));
    close(fd);
    if (st == OK) {
        text[n] = '\0';
        st = jobkey_parse(text, ret, err);
        if (st != OK)
            error_prepend(err, "key file '%s'", path);
    }
    sodium_memzero(text, sizeof text);
    return st;
}

status jobkey_write(const char *path, const jobkey *k, error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return FAIL(err, E_CONFIG,
                    "'%s' is there already and is not overwritten: remove it if no job needs it",
                    path);
    if (fd < 0)
        return FAIL(err, E_IO, "create '%s': %s", path, strerror(errno));
    char text[JOBKEY_TEXT];
    jobkey_text(k, text);
    text[JOBKEY_TEXT - 1] = '\n'; /* where the end of the string was */
    status st = fs_write_all(fd, text, sizeof text, path, err);
    sodium_memzero(text, sizeof text);
    if (st == OK && fsync(fd))
        st = FAIL(err, E_IO, "sync '%s': %s", path, strerror(errno));
    close(fd);
    if (st != OK)
        unlink(path);
    return st;
}
