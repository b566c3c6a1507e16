/* Lines of JSON from a stranger: every record lies within the bytes, and is refused or gives values of
 * each kind. */
#include "fuzz/support_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static record_kinds kinds[] = {
        {.all = "['number', 'numbers', 'integer', 'integers', 'label', 'labels', 'word']"},
        {.all = "['mask', 'pair']"},
    };
    records_read_all(&record_format_json, kinds, COUNT_OF(kinds), data, size);
    return 0;
}
