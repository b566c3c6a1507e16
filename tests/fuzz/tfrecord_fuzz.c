/* TFRecords from a stranger: as a file of them, which checksums guard, and as one tf.train.Example, which
 * none does. */
#include "fuzz/support_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const record_format *format = &record_format_tf_example;
    static const char all[] = "['numbers', 'integer', 'integers', 'bytes', 'label', 'labels', 'word', 'image']";
    records_read_all(format, all, data, size);
    void *parsed = NULL;
    if (format->parse(data, size, &parsed, NULL) == OK) {
        const record_fields *fields = records_all_kinds(format, all);
        for (size_t k = 0; k < fields->n; k++)
            records_take_field(&fields->at[k], format, parsed);
        format->drop(parsed);
    }
    return 0;
}
