/* TFRecords from a stranger: as a file of them, which checksums guard, and as one tf.train.Example, which
 * none does. */
#include "fuzz/support_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const record_format *format = &record_format_tf_example;
    static record_kinds kinds[] = {
        {.all = "['numbers', 'integer', 'integers', 'bytes', 'label', 'labels', 'word', 'image']"},
        {.all = "['number', 'mask', 'text']"},
    };
    records_read_all(format, kinds, COUNT_OF(kinds), data, size);
    void *parsed = NULL;
    if (format->parse(data, size, &parsed, NULL) == OK) {
        records_take_fields(format, kinds, COUNT_OF(kinds), parsed);
        format->drop(parsed);
    }
    return 0;
}
