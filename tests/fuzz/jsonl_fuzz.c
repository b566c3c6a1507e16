/* Lines of JSON from a stranger: every record lies within the bytes, and is refused or gives values of
 * each kind. */
#include "fuzz/support_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    records_read_all(&record_format_json, "['number', 'numbers', 'integer', 'integers', 'label', 'word']", data,
                     size);
    return 0;
}
