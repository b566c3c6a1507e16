#include "common/live/recorder_output.h"

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/live/clock_offset.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PLACES = 2, PATH_BYTES = 1024, PIECE = 512 };

/* A folder, and the names in it; all are made before a signal can ask for them. */
typedef struct place {
    char parent[PATH_BYTES], folder[PATH_BYTES];
    char beside[PATH_BYTES], file[RECORDER_FILES][PATH_BYTES];
} place;

static place places[PLACES];        /* the job dir's, and the host's */
static recording_head head;         /* what of it does not change */
static atomic_flag is_writing = ATOMIC_FLAG_INIT;
static _Atomic int64_t waited_us;   /* when recorder_write_wait last wrote */
static _Atomic int64_t written_us;  /* since 1970: when anything was written last */

/* --- where --- */

/* One that is too long is none. */
static void PRINTF_LIKE(2, 3) set_path(char ret[PATH_BYTES], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(ret, PATH_BYTES, format, args);
    va_end(args);
    if (n < 0 || n >= PATH_BYTES)
        ret[0] = '\0';
}

static void name_place(place *p, const char *name)
{
    set_path(p->beside, "%s/%s.bin.new", p->folder, name);
    set_path(p->file[0], "%s/%s.bin", p->folder, name);
    for (int i = 1; i < RECORDER_FILES; i++)
        set_path(p->file[i], "%s/%s.%d.bin", p->folder, name, i);
}

static void name_places(const char *job_dir, const char *name)
{
    char resolved[PATH_MAX];
    const char *temporary = getenv("TMPDIR"), *dir = realpath(job_dir, resolved) ? resolved : job_dir;
    set_path(places[0].parent, "%s/log", dir);
    set_path(places[0].folder, "%s/log/events", dir);
    set_path(places[1].parent, "%s", temporary && *temporary ? temporary : "/tmp");
    set_path(places[1].folder, "%s/tequio-events-%u-%08x", places[1].parent, (unsigned)getuid(),
             crc32c(0, job_dir, strlen(job_dir)));
    for (int i = 0; i < PLACES; i++)
        name_place(&places[i], name);
}

/* False: it cannot be, or is not ours alone. */
static bool make_folder(const place *p)
{
    struct stat s;
    if (p == &places[0] && mkdir(p->parent, 0777) != 0 && errno != EEXIST)
        return false;
    mode_t mode = p == &places[0] ? 0777 : 0700;
    if (mkdir(p->folder, mode) != 0 && errno != EEXIST)
        return false;
    bool is_folder = lstat(p->folder, &s) == 0 && S_ISDIR(s.st_mode);
    return is_folder && (p == &places[0] || s.st_uid == getuid());
}

static int open_beside(const place *p)
{
    if (!make_folder(p))
        return -1;
    unlink(p->beside);
    return open(p->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

static void put_in_place(const place *p)
{
    for (int i = RECORDER_FILES - 1; i > 0; i--)
        (void)rename(p->file[i - 1], p->file[i]);
    (void)rename(p->beside, p->file[0]);
}

/* --- what --- */

typedef struct output {
    int fd;
    bool failed;
    uint32_t checksum;
    size_t n;                       /* events in `piece` */
} output;

static recording_event piece[PIECE]; /* of whoever has is_writing */

static void put(output *o, const void *data, size_t bytes)
{
    const char *at = data;
    o->checksum = crc32c(o->checksum, data, bytes);
    while (bytes && !o->failed) {
        ssize_t n = write(o->fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        o->failed = n <= 0;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
}

static void put_piece(output *o)
{
    put(o, piece, o->n * sizeof piece[0]);
    o->n = 0;
}

static void put_event(output *o, const recorder_event *e, uint32_t number)
{
    if (o->n == PIECE)
        put_piece(o);
    piece[o->n++] = (recording_event){.at_us = e->at_us, .took_us = e->took_us, .step = e->step, .c = e->c, .a = e->a,
                                      .b = e->b, .kind = (uint16_t)e->kind, .lane = (int16_t)e->lane,
                                      .number = number};
}

static uint32_t put_in_progress(output *o)
{
    uint32_t n = 0;
    recorder_event e;
    for (int i = 0; i < RECORDER_ROWS; i++)
        if (recorder_in_progress(i, &e)) {
            put_event(o, &e, 0);
            n++;
        }
    put_piece(o);
    return n;
}

static uint32_t put_peers(output *o)
{
    uint32_t n = 0, peer;
    task who;
    for (int i = 0; i < RECORDER_PEERS; i++)
        if (recorder_peer_at(i, &peer, &who)) {
            put(o, &(recording_peer){.peer = peer, .role = (int32_t)who.role, .index = who.index},
                sizeof(recording_peer));
            n++;
        }
    return n;
}

/* From the oldest that is there; what others overwrite meanwhile is left out. */
static uint32_t put_events(output *o, uint64_t next)
{
    uint32_t n = 0;
    for (uint64_t at = next > RECORDER_EVENTS ? next - RECORDER_EVENTS : 0; at < next; at++) {
        recorder_event e;
        uint32_t number;
        if (!recorder_load(&recorder_ring[at % RECORDER_EVENTS], &e, &number) || number != (at & INT32_MAX))
            continue;
        put_event(o, &e, number);
        n++;
    }
    put_piece(o);
    return n;
}

static void write_head(output *o, recording_head *h)
{
    h->checksum = 0;
    h->checksum = crc32c(o->checksum, h, sizeof *h);
    o->failed = o->failed || pwrite(o->fd, h, sizeof *h, 0) != (ssize_t)sizeof *h;
}

/* Its head comes last, as it tells what was found. */
static bool write_all(int fd, recording_head *h)
{
    output o = {.fd = fd, .failed = lseek(fd, sizeof *h, SEEK_SET) < 0};
    h->noted = atomic_load(&recorder_next);
    h->n_in_progress = put_in_progress(&o);
    h->n_peers = put_peers(&o);
    h->n_events = put_events(&o, h->noted);
    write_head(&o, h);
    return !o.failed;
}

static const char *write_at(const place *p, recording_head *h)
{
    int fd = open_beside(p);
    if (fd < 0)
        return NULL;
    bool is_written = write_all(fd, h);
    if (close(fd) != 0 || !is_written) {
        unlink(p->beside);
        return NULL;
    }
    put_in_place(p);
    return p->file[0];
}

static int64_t wall_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void set_clock(recording_head *h)
{
    clock_estimate master;
    bool is_known = clock_master_now(h->at_us, &master);
    h->offset_us = is_known ? master.offset_us : 0;
    h->error_us = is_known ? master.error_us : -1;
}

static const char *recorder_output(recording_reason why, int signal, const char *text)
{
    const char *path = NULL;
    int failure = errno;
    if (!atomic_load(&recorder_is_on) || atomic_flag_test_and_set(&is_writing))
        return NULL;
    recording_head h = head;
    h.reason = why;
    h.signal = signal;
    h.at_us = clock_us();
    h.wall_us = wall_us();
    set_clock(&h);
    size_t n = strlen(text);
    memcpy(h.text, text, n < sizeof h.text ? n : sizeof h.text - 1);
    for (int i = 0; i < PLACES && !path; i++)
        path = write_at(&places[i], &h);
    if (path)
        atomic_store(&written_us, h.wall_us);
    atomic_flag_clear(&is_writing);
    errno = failure;
    return path;
}

int64_t recorder_written_us(void)
{
    return atomic_load(&written_us);
}

const char *recorder_write(recording_reason why, const char *text)
{
    const char *path = recorder_output(why, 0, text);
    if (path)
        LOG_I("EVENTS", "file=%s host=%s: %s", path, head.host, recording_reason_words(why));
    return path;
}

static bool is_due(int64_t now, int64_t last_us)
{
    enum { PAUSE_US = 10 * 1000000 };
    return !last_us || now - last_us >= PAUSE_US;
}

void recorder_write_wait(recording_reason why, const char *text)
{
    int64_t now = clock_us(), last = atomic_load(&waited_us);
    if (is_due(now, last) && atomic_compare_exchange_strong(&waited_us, &last, now))
        (void)recorder_write(why, text);
}

bool recorder_write_waits(const wait_list *waits)
{
    for (size_t i = 0; i < waits->n; i++)
        if (waits->at[i].level <= LOG_WARN) {
            recorder_write_wait(RECORDING_WAIT, waits->at[i].text);
            return true;
        }
    return false;
}

/* Another master begins with none. */
void recorder_take_request(recorder_request *r, int64_t number)
{
    bool is_asked = r->is_known && number > r->number;
    *r = (recorder_request){true, number};
    if (!is_asked)
        return;
    RECORDER_NOTE(.kind = EVENT_ASKED, .lane = -1, .step = -1, .a = (int32_t)number, .at_us = clock_us());
    recorder_write_wait(RECORDING_ASKED, "");
}

/* --- signals --- */

static const int deadly[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
enum { N_DEADLY = sizeof deadly / sizeof deadly[0] };

/* In a line of its own: the log's may be under way. */
static void say_where(const char *path)
{
    static const char before[] = "\nthe flight recorder's events are in ";
    if (!path)
        return;
    (void)!write(STDERR_FILENO, before, sizeof before - 1);
    (void)!write(STDERR_FILENO, path, strlen(path));
    (void)!write(STDERR_FILENO, "\n", 1);
}

static void on_request(int signal)
{
    say_where(recorder_output(RECORDING_SIGNAL, signal, ""));
}

/* The process ends as it would have without us: where it stands, or by the signal that somebody sent. */
static void on_death(int signal, siginfo_t *info, void *context)
{
    static atomic_flag is_dying = ATOMIC_FLAG_INIT;
    (void)context;
    if (atomic_flag_test_and_set(&is_dying))
        nanosleep(&(struct timespec){.tv_sec = 3}, NULL); /* another thread is at it */
    else
        say_where(recorder_output(RECORDING_DEATH, signal, ""));
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    if (info->si_code <= 0)
        raise(signal);
}

/* Of the main thread; others have one (common/base/thread.h). */
static void give_stack(void)
{
    static char stack[64 << 10];
    stack_t before;
    if (sigaltstack(NULL, &before) == 0 && before.ss_flags & SS_DISABLE)
        (void)sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
}

static void handle_signals(void)
{
    struct sigaction before, request = {.sa_handler = on_request, .sa_flags = SA_RESTART},
                             death = {.sa_sigaction = on_death, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&request.sa_mask);
    for (int i = 0; i < N_DEADLY; i++) {
        sigdelset(&request.sa_mask, deadly[i]);
        sigaddset(&death.sa_mask, deadly[i]);
    }
    sigaddset(&death.sa_mask, SIGUSR1);
    sigaction(SIGUSR1, &request, NULL);
    for (int i = 0; i < N_DEADLY; i++)
        if (sigaction(deadly[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(deadly[i], &death, NULL);
}

/* --- life --- */

void recorder_start(const recorder_identity *who)
{
    char name[TASK_NAME];
    const char *word = getenv("TEQUIO_EVENTS");
    if (word && strcmp(word, "off") == 0)
        return;
    head = (recording_head){.version = RECORDING_VERSION,
                            .kinds = recording_kinds(), /* makes crc32c's table, too */
                            .role = (int32_t)who->task.role,
                            .index = who->task.index,
                            .is_trainer = who->is_trainer,
                            .pid = getpid()};
    memcpy(head.magic, RECORDING_MAGIC, sizeof head.magic);
    memcpy(head.indexes, who->indexes, sizeof head.indexes);
    (void)gethostname(head.host, sizeof head.host - 1);
    name_places(who->job_dir, task_name(who->task, name));
    give_stack();
    atomic_store(&recorder_is_on, true);
    handle_signals();
}
