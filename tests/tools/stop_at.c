/*
 * A program that hangs at a moment which no signal from outside can hit: preloaded into it, stops it (SIGSTOP)
 * right after it gave a file a name.
 *
 *   LD_PRELOAD=stop_at.so STOP_AT=PATH STOP_AT_ONCE=FILE PROGRAM...
 *
 * Once for all programs that have this FILE, which is made then.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

int rename(const char *from, const char *to)
{
    int result = REAL(rename)(from, to);
    const char *at = getenv("STOP_AT"), *once = getenv("STOP_AT_ONCE");
    if (result != 0 || !at || !once || strcmp(to, at) != 0)
        return result;
    int fd = open(once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
        close(fd);
        raise(SIGSTOP);
    }
    return result;
}
