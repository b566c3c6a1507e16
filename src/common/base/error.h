/*
 * Errors: every function that can fail returns a `status` and takes an `error *` last.
 *
 * The status is for programs (it decides the exit code), the text is for people. The first cause is
 * kept; each layer prepends what it was doing, so a message reads from the outside in:
 *
 *     restore step 40: shard 1: open 'ps-1-of-2.safetensors': No such file or directory
 *
 * An `error *` may be NULL. Outputs (`ret_*`) are written only on success. Broken invariants of our
 * own are BUG(), which aborts; nothing a user, a file or a peer can do may reach one.
 *
 * Threads: an `error` belongs to one thread at a time.
 */
#ifndef TEQUIO_COMMON_BASE_ERROR_H
#define TEQUIO_COMMON_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

/* X(code, name shown to people, exit code of the process) */
#define STATUS_MAP(X)                                                                              \
    X(OK, "ok", 0)                                                                                 \
    X(E_FAIL, "failure", 1)                                                                        \
    X(E_IO, "input/output error", 1)                                                               \
    X(E_NOMEM, "out of memory", 1)                                                                 \
    X(E_TIMEOUT, "timed out", 1)                                                                   \
    X(E_ABORTED, "told to leave", 1)                                                               \
    X(E_NONFINITE, "non-finite number", 1)                                                         \
    X(E_USAGE, "usage error", 2)                                                                   \
    X(E_CONFIG, "configuration error", 2)                                                          \
    X(E_DATA, "data error", 3)                                                                     \
    X(E_UNSUPPORTED, "unsupported model", 4)                                                       \
    X(E_PREEMPTED, "preempted", 143)                                                               \
    X(E_PROTOCOL, "protocol error", 200)                                                           \
    X(E_LOST, "peer lost", 200)                                                                    \
    X(E_DEVICE, "device failed", 201)                                                              \
    X(E_DISK, "disk without room, or failing", 202)                                                \
    X(E_BUSY, "in use", 202)

typedef enum status {
#define X(code, name, exit_code) code,
    STATUS_MAP(X)
#undef X
        STATUS_COUNT
} status;

enum { ERROR_TEXT = 2048 };

typedef struct error {
    status code;            /* OK while empty */
    char text[ERROR_TEXT];  /* always terminated; "" while empty */
} error;

#define ERROR_INIT {.code = OK, .text = ""}

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

const char *status_name(status s);
int status_exit_code(status s);

/* Record the first cause and return `s`. A second call on a filled error keeps the first text. One that
 * ends by saying that too many files are open goes on with what to do about it. */
status error_set(error *err, status s, const char *format, ...) PRINTF_LIKE(3, 4);

/* Prepend "<context>: " to what is there; the context may take up to half of the room, and what
 * does not fit is cut off at the end. */
void error_prepend(error *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* Empty it, so that it may be filled again. */
void error_clear(error *err);

_Noreturn void bug_at(const char *file, int line, const char *format, ...) PRINTF_LIKE(3, 4);

#define FAIL(err, code, ...) error_set((err), (code), __VA_ARGS__)

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status try_status_ = (call);                                                               \
        if (try_status_ != OK)                                                                     \
            return try_status_;                                                                    \
    } while (0)

#define TRYF(call, err, ...)                                                                       \
    do {                                                                                           \
        status try_status_ = (call);                                                               \
        if (try_status_ != OK) {                                                                   \
            error_prepend((err), __VA_ARGS__);                                                     \
            return try_status_;                                                                    \
        }                                                                                          \
    } while (0)

/* For functions with one `out:` label: `TRY_OUT(st, call)` sets st and jumps there on failure. */
#define TRY_OUT(st, call)                                                                          \
    do {                                                                                           \
        (st) = (call);                                                                             \
        if ((st) != OK)                                                                            \
            goto out;                                                                              \
    } while (0)

#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define BUG_ON(condition)                                                                          \
    do {                                                                                           \
        if (condition)                                                                             \
            BUG("%s", #condition);                                                                 \
    } while (0)

#endif
