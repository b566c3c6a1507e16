/*
 * Files of flight recorders: read, or refused with a message. So that the fuzzer gets behind the checksum, what it
 * makes is sealed once more.
 */
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/live/recording.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_one(const void *data, size_t size)
{
    recording r;
    error err = ERROR_INIT;
    task who;
    if (recording_parse(data, size, &r, &err) != OK) {
        BUG_ON(err.code != E_DATA || !err.text[0]);
        return;
    }
    for (uint32_t i = 0; i < r.head.n_events; i++)
        BUG_ON(r.events[i].kind >= EVENT_COUNT);
    for (uint32_t i = 0; i < r.head.n_in_progress; i++)
        BUG_ON(r.in_progress[i].kind >= EVENT_COUNT);
    for (uint32_t i = 0; i < r.head.n_peers; i++)
        BUG_ON(!recording_peer_of(&r, r.peers[i].peer, &who) || who.role >= ROLE_COUNT);
    BUG_ON(strlen(r.head.host) >= RECORDING_HOST || strlen(r.head.text) >= RECORDING_TEXT);
    recording_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_one(data, size);
    if (size < sizeof(recording_head))
        return 0;
    char *sealed = xmalloc(size);
    recording_head *h = (recording_head *)(void *)sealed;
    memcpy(sealed, data, size);
    memcpy(h->magic, RECORDING_MAGIC, sizeof h->magic);
    h->version = RECORDING_VERSION;
    h->kinds = recording_kinds();
    h->checksum = 0;
    h->checksum = crc32c(crc32c(0, sealed + sizeof *h, size - sizeof *h), h, sizeof *h);
    try_one(sealed, size);
    free(sealed);
    return 0;
}
