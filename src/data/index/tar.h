/* Where the fields of a head of a tar file stand, and how long they are (POSIX.1-2017, ustar). */
#ifndef TEQUIO_DATA_INDEX_TAR_H
#define TEQUIO_DATA_INDEX_TAR_H

enum {
    TAR_BLOCK = 512,
    TAR_NAME = 0, TAR_NAME_BYTES = 100,
    TAR_MODE = 100,
    TAR_OWNER = 108,
    TAR_GROUP = 116,
    TAR_SIZE = 124, TAR_SIZE_BYTES = 12,
    TAR_TIME = 136,
    TAR_CHECKSUM = 148, TAR_CHECKSUM_BYTES = 8,
    TAR_KIND = 156,
    TAR_MAGIC = 257,
    TAR_PREFIX = 345, TAR_PREFIX_BYTES = 155,
};

#endif
