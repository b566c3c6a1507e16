/* Lines of JSON from a stranger: every record lies within the bytes, and is refused or gives values of
 * each kind. */
#include "fuzz/support_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char all[] = "['number', 'numbers', 'integer', 'integers', 'label', 'labels', 'word']";
    records_read_all(&record_format_json, all, data, size);
    return 0;
}
