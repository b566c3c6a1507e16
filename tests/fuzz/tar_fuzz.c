/* Archives from a stranger, tar and zip: whatever the bytes, an error or members that lie within them,
 * none of whose names leads out. */
#include "data/index/archive.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_as(archive_kind kind, const uint8_t *data, size_t size)
{
    archive a = {.at = NULL};
    error err = ERROR_INIT;
    if (archive_open(kind, data, size, "fuzz", &a, &err) != OK) {
        BUG_ON(err.text[0] == '\0' || a.at);
        return;
    }
    for (size_t i = 0; i < a.n; i++) {
        const archive_member *m = &a.at[i];
        BUG_ON(m->data < data || m->data > data + size || m->bytes > (size_t)(data + size - m->data));
        BUG_ON(m->name[0] == '/' || strncmp(m->name, "../", 3) == 0 || strstr(m->name, "/../"));
    }
    archive_close(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as(ARCHIVE_TAR, data, size);
    read_as(ARCHIVE_ZIP, data, size);
    return 0;
}
