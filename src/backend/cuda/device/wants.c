#include "backend/cuda/device/device.h"

#include <stdlib.h>
#include <string.h>

bool device_wants(const char *variable)
{
    const char *word = getenv(variable);
    return !word || strcmp(word, "0") != 0;
}

bool device_asks(const char *variable)
{
    return getenv(variable) && device_wants(variable);
}
