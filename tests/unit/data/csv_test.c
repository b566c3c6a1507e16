/* Comma-separated values: cells as RFC 4180 has them, lines counted, every refusal; and words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/csv.h"
#include "data/words.h"

#include <stdio.h>
#include <string.h>

/* All rows: cells in brackets, a line's number before each row. */
static void expect_rows(const char *text, char separator, const char *rows)
{
    csv c;
    buf all = BUF_INIT;
    bool more = true;
    csv_open(&c, text, strlen(text), separator, "t.csv");
    for (;;) {
        error err = ERROR_INIT;
        if (csv_next(&c, &more, &err) != OK)
            fail_msg("%s", err.text);
        if (!more)
            break;
        buf_addf(&all, "%zu:", c.row_line);
        for (size_t i = 0; i < c.n_cells; i++)
            buf_addf(&all, "[%s]", csv_cell(&c, i));
    }
    assert_string_equal(all.data ? all.data : "", rows);
    csv_close(&c);
    buf_fini(&all);
}

static void test_cells(void **state)
{
    (void)state;
    expect_rows("a,b\n1,2\n", ',', "1:[a][b]2:[1][2]");
    expect_rows("a,b\r\n1,2", ',', "1:[a][b]2:[1][2]");
    expect_rows("a,b\r1,2\r", ',', "1:[a][b]2:[1][2]");
    expect_rows(" a , b c\t,d \n", ',', "1:[a][b c][d]");
    expect_rows(",\n,", ',', "1:[][]2:[][]");
    expect_rows("a;\"x;y\";\"say \"\"no\"\"\"\n", ';', "1:[a][x;y][say \"no\"]");
    expect_rows("\"two\nlines\",b\nc,d", ',', "1:[two\nlines][b]3:[c][d]");
    expect_rows(" \" kept \" ,b", ',', "1:[ kept ][b]");
    expect_rows("a\t b\t\n", '\t', "1:[a][b][]");
    expect_rows("\n\n  \na\n\n", ',', "4:[a]");
    expect_rows("", ',', "");
    expect_rows("\n \n", ',', "");
    expect_rows("a\"b,c", ',', "1:[a\"b][c]");
}

static void refuses(const char *text, size_t bytes, const char *part)
{
    csv c;
    error err = ERROR_INIT;
    bool more = true;
    status st = OK;
    csv_open(&c, text, bytes, ',', "t.csv");
    while (st == OK && more)
        st = csv_next(&c, &more, &err);
    assert_int_equal(st, E_DATA);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
    csv_close(&c);
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("a\nb,\"c\nd", 8, "'t.csv': the quotation that line 2 opens is never closed");
    refuses("a\n\"b\"c", 6, "'t.csv': line 2 goes on behind a closing quotation mark");
    refuses("a\nb\0c", 5, "'t.csv': line 2 holds a zero byte");
    refuses("\"a\0\"", 4, "line 1 holds a zero byte");
}

static void test_words_are_numbered(void **state)
{
    (void)state;
    words *w = words_create();
    char name[16];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 1000; i++) {
            snprintf(name, sizeof name, "w%d", (i * 7) % 1000);
            assert_int_equal(words_add(w, name), i);
        }
    assert_int_equal(words_count(w), 1000);
    assert_int_equal(words_find(w, "w7"), 1);
    assert_int_equal(words_find(w, "w1000"), -1);
    words_destroy(&w);
    words_destroy(&w);
}

static void expect_order(const char *const *in, const char *const *out, int32_t n)
{
    words *w = words_create();
    int32_t places[8];
    for (int32_t i = 0; i < n; i++)
        assert_int_equal(words_add(w, in[i]), i);
    words_sort(w, places);
    for (int32_t i = 0; i < n; i++) {
        assert_string_equal(words_at(w, i), out[i]);
        assert_string_equal(words_at(w, places[i]), in[i]);
        assert_int_equal(words_find(w, out[i]), i);
    }
    words_destroy(&w);
}

static void test_words_are_put_in_order(void **state)
{
    (void)state;
    expect_order((const char *[]){"10", "9", "2", "100"}, (const char *[]){"2", "9", "10", "100"}, 4);
    expect_order((const char *[]){"b", "10", "a", "9"}, (const char *[]){"10", "9", "a", "b"}, 4);
    expect_order((const char *[]){"\303\251", "z", "Z"}, (const char *[]){"Z", "z", "\303\251"}, 3);
    expect_order(NULL, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_words_are_numbered),
        cmocka_unit_test(test_words_are_put_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
