/* Archives from a stranger, tar and zip: whatever the bytes, an error or members that lie within them,
 * none of whose names leads out. */
#include "data/index/archive.h"
#include "data/index/samples.h"

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

/* As samples: each lies within the bytes, and is read from them or refused. */
static void read_samples(const uint8_t *data, size_t size)
{
    record_list l = {.at = NULL};
    const record_source file = {"fuzz", data, size};
    if (samples_cut(&file, 1, &l, NULL) == OK)
        for (size_t i = 0; i < l.n; i++) {
            sample s;
            BUG_ON(l.at[i].at > size || l.at[i].bytes > size - l.at[i].at);
            if (sample_read(data + l.at[i].at, l.at[i].bytes, &s, NULL) == OK)
                sample_fini(&s);
        }
    record_list_fini(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_samples(data, size);
    read_as(ARCHIVE_TAR, data, size);
    read_as(ARCHIVE_ZIP, data, size);
    return 0;
}
