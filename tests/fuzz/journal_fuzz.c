/*
 * A journal, whatever is in it: whole records one after the other from the head on, or an end. The
 * checksums, which no fuzzer guesses, are put right where a record could be.
 */
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "master/accounting/journal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_HEAD = 16, HEAD = 12, JOB = 7 };

/* The records' checksums, as far as lengths lead from one to the next. */
static void put_right(uint8_t *at, size_t left)
{
    while (left >= HEAD) {
        uint32_t bytes;
        memcpy(&bytes, at, 4);
        if (bytes > left - HEAD)
            return;
        uint32_t crc = crc32c(crc32c(0, at, HEAD - 4), at + HEAD, bytes);
        memcpy(at + HEAD - 4, &crc, 4);
        at += HEAD + bytes;
        left -= HEAD + bytes;
    }
}

static void check(void *user, const journal_record *r)
{
    size_t *end = user;
    BUG_ON(r->begin != *end || r->end < r->begin + HEAD);
    BUG_ON(r->kind < JOURNAL_BASE || r->kind > JOURNAL_CLOSED);
    const metric_set *m = r->kind == JOURNAL_BASE ? &r->base.last_step : &r->report.metrics;
    BUG_ON(r->kind != JOURNAL_CLOSED && m->n > METRIC_COUNT_MAX);
    *end = r->end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t head[FILE_HEAD] = {'T', 'Q', 'J', 1, [8] = JOB};
    int fd = memfd_create("journal", MFD_CLOEXEC);
    BUG_ON(fd < 0 || ftruncate(fd, (off_t)(FILE_HEAD + size)) != 0);
    uint8_t *file = mmap(NULL, FILE_HEAD + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    BUG_ON(file == MAP_FAILED);
    memcpy(file, head, FILE_HEAD);
    if (size)
        memcpy(file + FILE_HEAD, data, size);
    put_right(file + FILE_HEAD, size);
    munmap(file, FILE_HEAD + size);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    size_t seen = FILE_HEAD, end = 0;
    error err = ERROR_INIT;
    BUG_ON(journal_read(path, JOB, check, &seen, &end, &err) != OK);
    BUG_ON(end != seen);
    BUG_ON(journal_read(path, JOB + 1, check, &seen, &end, &err) != OK || end != 0);
    close(fd);
    return 0;
}
