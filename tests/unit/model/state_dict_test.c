/* State dicts of torch.save: their tensors are found, and no byte of them is ever run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/state_dict.h"

#include <stdlib.h>
#include <string.h>

/* torch.save of the state dict of nn.Linear(2, 1), PyTorch 2.15 */
#define BEGIN "\x80\x02" "ccollections\nOrderedDict\nq\0)Rq\1("
#define STORAGE(key, n) "((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" key "X\3\0\0\0cpuK" n "tQ"
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n"
#define WEIGHT "X\6\0\0\0weight" REBUILD STORAGE("0", "\2") "K\0K\1K\2\x86q\2K\2K\1\x86\x89h\0)RtR"
#define BIAS "X\4\0\0\0bias" REBUILD STORAGE("1", "\1") "K\0K\1\x85K\1\x85\x89h\0)RtR"
#define METADATA "}X\x9\0\0\0_metadatah\0)RX\0\0\0\0}X\7\0\0\0versionK\1sssb"

static const char linear[] = BEGIN WEIGHT BIAS "u" METADATA ".";

static status read_text(const void *data, size_t bytes, arena *a, state_dict *ret, error *err)
{
    return state_dict_read(data, bytes, "model.bin", a, ret, err);
}

static void test_tensors_are_found(void **state)
{
    (void)state;
    arena *a = arena_create();
    error err = ERROR_INIT;
    state_dict d;
    if (read_text(linear, sizeof linear - 1, a, &d, &err) != OK)
        fail_msg("%s", err.text);
    assert_int_equal(d.n, 2);
    assert_string_equal(d.at[0].name, "weight");
    assert_string_equal(d.at[0].storage, "0");
    assert_int_equal(d.at[0].dtype, DT_F32);
    assert_int_equal(d.at[0].rank, 2);
    assert_int_equal(d.at[0].dim[1], 2);
    assert_string_equal(d.at[1].name, "bias");
    assert_int_equal(d.at[1].stored, 1);
    arena_destroy(&a);
}

static void test_what_breaks_off_is_refused(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof linear - 1; n++) {
        arena *a = arena_create();
        char *part = malloc(n + 1); /* so that reading beyond it shows */
        error err = ERROR_INIT;
        state_dict d;
        memcpy(part, linear, n);
        assert_int_equal(read_text(part, n, a, &d, &err), E_DATA);
        free(part);
        arena_destroy(&a);
    }
}

#define REFUSED(data, says) {data, sizeof data - 1, says}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t bytes;
        const char *says;
    } cases[] = {
        REFUSED("\x80\x02" "cposix\nsystem\nX\2\0\0\0ls\x85R.",
                "it asks for Python's posix.system, and no code is run"),
        REFUSED("\x80\x02" "c__builtin__\neval\n.", "Python's __builtin__.eval"),
        REFUSED("\x80\x02" "]q\0.", "step 0x5d, which no state dict takes"),
        REFUSED("\x80\x04" "}.", "protocol 2"),
        REFUSED("\x80\x02" "K\1.", "does not fit what stands before it"),
        REFUSED("\x80\x02" "}h\7.", "a value that was never kept"),
        REFUSED("\x80\x02" "}q\7.", "kept out of order"),
        REFUSED("\x80\x02" "}X\5\0\0\0stateK\1s.", "'state' is no tensor"),
        REFUSED("\x80\x02" "}K\1K\2s.", "a key that is no text"),
        REFUSED("\x80\x02" "}(K\1u.", "items for what is no dict"),
        REFUSED(BEGIN "X\1\0\0\0w" REBUILD STORAGE("0", "\4") "K\0K\2K\2\x86K\1K\2\x86\x89h\0)RtRu.",
                "save it with .contiguous()"),
        REFUSED(BEGIN "X\1\0\0\0w" REBUILD STORAGE("0", "\3") "K\0K\2K\2\x86K\2K\1\x86\x89h\0)RtRu.",
                "within its storage"),
        REFUSED(BEGIN "X\1\0\0\0w" REBUILD STORAGE("0", "\4") "K\1K\4\x85K\1\x85\x89h\0)RtRu.", "within its storage"),
        REFUSED("\x80\x02" "ctorch\nCharStorage\n.", "torch.CharStorage"),
        REFUSED("\x80\x02" "X\1\0\0\0\xff.", "not UTF-8"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        arena *a = arena_create();
        error err = ERROR_INIT;
        state_dict d;
        assert_int_equal(read_text(cases[i].data, cases[i].bytes, a, &d, &err), E_DATA);
        if (!strstr(err.text, cases[i].says) || !strstr(err.text, "model.bin"))
            fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
        arena_destroy(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_are_found),
        cmocka_unit_test(test_what_breaks_off_is_refused),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
