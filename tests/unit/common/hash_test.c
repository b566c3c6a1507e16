#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/hash.h"

#include <stdlib.h>
#include <string.h>

/* FIPS 180-4 examples. */
static void sha256_gives_the_standard_digests(void **state)
{
    (void)state;
    const struct {
        const char *text, *want;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char got[SHA256_HEX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sha256_hex(cases[i].text, strlen(cases[i].text), got);
        assert_string_equal(got, cases[i].want);
    }
    enum { MILLION = 1000000 };
    char *a = malloc(MILLION);
    memset(a, 'a', MILLION);
    sha256_hex(a, MILLION, got);
    assert_string_equal(got, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    sha256 h;
    sha256_begin(&h);
    sha256_add(&h, NULL, 0);
    for (size_t at = 0, n = 1; at < MILLION; at += n, n = n * 3 % 1009)
        sha256_add(&h, a + at, n < MILLION - at ? n : MILLION - at);
    char pieces[SHA256_HEX];
    sha256_end(&h, pieces);
    assert_string_equal(pieces, got);
    free(a);
}

/* RFC 3720, appendix B.4. */
static void crc32c_gives_the_standard_sums(void **state)
{
    (void)state;
    unsigned char bytes[32];
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(crc32c(0, bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(crc32c(0, bytes, 32), 0x46dd794e);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(31 - i);
    assert_int_equal(crc32c(0, bytes, 32), 0x113fdb5c);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, NULL, 0), 0);
}

static void crc32c_chains_at_any_place(void **state)
{
    (void)state;
    unsigned char bytes[100];
    for (int i = 0; i < 100; i++)
        bytes[i] = (unsigned char)(i * 37);
    for (size_t first = 0; first < 9; first++)
        for (size_t n = 0; first + n <= 100; n++)
            for (size_t cut = 0; cut <= n; cut++)
                assert_int_equal(
                    crc32c(crc32c(0, bytes + first, cut), bytes + first + cut, n - cut),
                    crc32c(0, bytes + first, n));
}

/* From the authors' list of test strings. */
static void fnv1a_gives_the_published_hashes(void **state)
{
    (void)state;
    assert_true(fnv1a("", 0) == 0xcbf29ce484222325u);
    assert_true(fnv1a("a", 1) == 0xaf63dc4c8601ec8cu);
    assert_true(fnv1a("foobar", 6) == 0x85944171f73967e8u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_standard_digests),
        cmocka_unit_test(crc32c_gives_the_standard_sums),
        cmocka_unit_test(crc32c_chains_at_any_place),
        cmocka_unit_test(fnv1a_gives_the_published_hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
