#include "cli/look/recordings.h"

#include "cli/inspect/text.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECENT_US = 15 * 1000000, BESIDE_US = 2500000 };

/* --- files --- */

static bool is_recording(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && n < RECORDING_NAME && strcmp(name + n - 4, ".bin") == 0;
}

static void read_file(recordings *r, const char *folder, const char *name)
{
    error why = ERROR_INIT;
    recording_file *file = &r->files[r->n_files];
    char *path = xasprintf("%s/%s", folder, name);
    if (recording_read(path, &file->r, &why) == OK) {
        snprintf(file->name, sizeof file->name, "%s", name);
        r->n_files++;
    } else {
        r->refused[r->n_refused++] = xstrdup(why.text);
    }
    free(path);
}

static status read_files(recordings *r, const char *job_dir, error *err)
{
    char **names = NULL;
    size_t n = 0;
    char *folder = xasprintf("%s/log/events", job_dir);
    status st = fs_exists(folder) ? fs_list(folder, &names, &n, err) : OK;
    r->files = xcalloc(n + 1, sizeof *r->files);
    r->refused = xcalloc(n + 1, sizeof *r->refused);
    for (size_t i = 0; i < n; i++)
        if (is_recording(names[i]))
            read_file(r, folder, names[i]);
    fs_list_free(names, n);
    free(folder);
    return st;
}

/* --- moments --- */

/* The newest that a master wrote of itself; NULL: there is none. */
static const recording_head *find_master(const recordings *r)
{
    const recording_head *found = NULL;
    for (size_t i = 0; i < r->n_files; i++) {
        const recording_head *h = &r->files[i].r.head;
        if (h->indexes[ROLE_MASTER] >= 0 && (!found || h->wall_us > found->wall_us))
            found = h;
    }
    return found;
}

/* Times of day of hosts may differ; by how much each task's clock differs from its master's its file tells. One whose
 * master was another, on another host, lies elsewhere altogether: it stays where its own time of day has it. */
static void align_clocks(recordings *r)
{
    static const double hour_us = 3600e6;
    const recording_head *master = find_master(r);
    if (!master)
        return;
    double of_master_us = (double)master->wall_us - (double)master->at_us;
    for (size_t i = 0; i < r->n_files; i++) {
        recording_head *h = &r->files[i].r.head;
        double by_us = (double)h->at_us + (double)h->offset_us + of_master_us - (double)h->wall_us;
        if (h->error_us >= 0 && by_us > -hour_us && by_us < hour_us)
            h->wall_us += (int64_t)by_us;
    }
}

static void find_newest(recordings *r)
{
    for (size_t i = 0; i < r->n_files; i++)
        if (i == 0 || r->files[i].r.head.wall_us > r->wall_us)
            r->wall_us = r->files[i].r.head.wall_us;
}

/* --- tasks --- */

bool recording_task_of(const recording *r, role of, task *ret)
{
    bool is_beside = of == ROLE_WORKER && r->head.is_trainer;
    if (r->head.indexes[of] < 0 && !is_beside)
        return false;
    *ret = is_beside ? (task){ROLE_MASTER, 0} : (task){of, r->head.indexes[of]};
    return true;
}

bool recording_is_of_end(const recording *r)
{
    return r->head.reason == RECORDING_DEATH || r->head.reason == RECORDING_FAILURE;
}

int recordings_find(const recordings *r, task t)
{
    for (size_t i = 0; i < r->n_tasks; i++)
        if (r->tasks[i].task.role == t.role && r->tasks[i].task.index == t.index)
            return (int)i;
    return -1;
}

static recorded_task *add_task(recordings *r, task t)
{
    int at = recordings_find(r, t);
    if (at >= 0)
        return &r->tasks[at];
    r->tasks = xrealloc(r->tasks, (r->n_tasks + 1) * sizeof *r->tasks);
    recorded_task *one = &r->tasks[r->n_tasks++];
    *one = (recorded_task){.task = t};
    task_name(t, one->name);
    return one;
}

/* "worker.3" */
static bool read_name(const char *name, task *ret)
{
    for (int i = 0; i < ROLE_COUNT; i++) {
        size_t n = strlen(role_name((role)i));
        char *end = NULL;
        if (strncmp(name, role_name((role)i), n) != 0 || name[n] != '.')
            continue;
        long index = strtol(name + n + 1, &end, 10);
        *ret = (task){(role)i, (int32_t)index};
        return end != name + n + 1 && !*end && index >= 0 && index < INT32_MAX;
    }
    return false;
}

static void add_told(recordings *r, const json_t *live, const char *key)
{
    size_t i;
    const json_t *one;
    task t;
    json_array_foreach(json_object_get(live, key), i, one)
        if (read_name(inspect_str(one, "task"), &t))
            (void)add_task(r, t);
}

static int64_t distance(const recording_file *a, const recording_file *b)
{
    int64_t us = a->r.head.wall_us - b->r.head.wall_us;
    return us < 0 ? -us : us;
}

static bool is_recent(const recordings *r, const recording_file *file)
{
    return file->r.head.wall_us >= r->wall_us - RECENT_US;
}

static bool is_same_task(const recording_file *a, const recording_file *b)
{
    return a->r.head.role == b->r.head.role && a->r.head.index == b->r.head.index;
}

/* Processes that have written at about the same time. */
static size_t count_beside(const recordings *r, const recording_file *file)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_files; i++) {
        const recording_file *one = &r->files[i];
        bool is_first = true;
        for (size_t k = 0; k < i; k++)
            is_first = is_first && !(is_same_task(&r->files[k], one) && distance(&r->files[k], file) <= BESIDE_US);
        n += is_first && distance(one, file) <= BESIDE_US;
    }
    return n;
}

/* The file at whose time most have written; of as many the newest. NULL: there is none. */
static const recording_file *find_moment(const recordings *r)
{
    const recording_file *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < r->n_files; i++) {
        const recording_file *one = &r->files[i];
        size_t n = is_recent(r, one) ? count_beside(r, one) : 0;
        if (n > most || (n && n == most && one->r.head.wall_us > best->r.head.wall_us)) {
            best = one;
            most = n;
        }
    }
    return best;
}

/* What a process wrote as it ended counts more than what is nearer to the moment. */
static bool is_better(const recording_file *file, const recording_file *than, const recording_file *moment)
{
    bool ends = recording_is_of_end(&file->r), other_ends = recording_is_of_end(&than->r);
    return ends != other_ends ? ends : distance(file, moment) < distance(than, moment);
}

static void add_file(recordings *r, const recording_file *file, const recording_file *moment)
{
    for (int of = 0; of < ROLE_COUNT; of++) {
        task t;
        if (!recording_task_of(&file->r, (role)of, &t))
            continue;
        recorded_task *one = add_task(r, t);
        if (!is_recent(r, file))
            one->is_old = true;
        else if (!one->file || is_better(file, one->file, moment))
            one->file = file;
    }
}

static int by_task(const void *a, const void *b)
{
    const recorded_task *x = a, *y = b;
    if (x->task.role != y->task.role)
        return (x->task.role > y->task.role) - (x->task.role < y->task.role);
    return (x->task.index > y->task.index) - (x->task.index < y->task.index);
}

static void add_tasks(recordings *r, const json_t *live)
{
    if (live)
        (void)add_task(r, (task){ROLE_MASTER, 0});
    add_told(r, live, "workers");
    add_told(r, live, "servers");
    const recording_file *moment = find_moment(r);
    for (size_t i = 0; i < r->n_files; i++)
        add_file(r, &r->files[i], moment);
    if (moment)
        r->wall_us = moment->r.head.wall_us;
    if (r->n_tasks)
        qsort(r->tasks, r->n_tasks, sizeof *r->tasks, by_task);
}

/* --- slots --- */

static void set_owner(recordings *r, size_t slot, task t, int lane)
{
    enum { SLOTS_MOST = 1 << 16 };
    if (slot >= SLOTS_MOST)
        return;
    if (slot >= r->n_slots) {
        r->owners = xrealloc(r->owners, (slot + 1) * sizeof *r->owners);
        for (; r->n_slots <= slot; r->n_slots++)
            r->owners[r->n_slots] = (slot_owner){-1, -1};
    }
    r->owners[slot] = (slot_owner){recordings_find(r, t), lane};
}

bool recordings_are_leased(const recordings *r)
{
    for (size_t i = 0; i < r->n_files; i++)
        for (uint32_t k = 0; k < r->files[i].r.head.n_events; k++) {
            const recorder_event *e = &r->files[i].r.events[k];
            if ((e->kind == EVENT_SENT || e->kind == EVENT_RECEIVED) && e->a == WIRE_LEASE)
                return true;
        }
    return false;
}

/* As the master told it, and what it has dealt since. */
static void find_owners(recordings *r, const json_t *live)
{
    if (recordings_are_leased(r))
        return;
    size_t i;
    const json_t *slot;
    task t;
    json_array_foreach(json_object_get(live, "slots"), i, slot)
        if (read_name(inspect_str(slot, "task"), &t))
            set_owner(r, i, t, (int)inspect_int(slot, "lane"));
    int master = recordings_find(r, (task){ROLE_MASTER, 0});
    const recording_file *file = master < 0 ? NULL : r->tasks[master].file;
    for (uint32_t k = 0; file && k < file->r.head.n_events; k++) {
        const recorder_event *e = &file->r.events[k];
        if (e->kind == EVENT_OWNER && e->a >= 0)
            set_owner(r, (size_t)e->a, e->b < 0 ? (task){ROLE_MASTER, 0} : (task){ROLE_WORKER, e->b}, (int)e->c);
    }
}

status recordings_open(const char *job_dir, const json_t *live, recordings *ret, error *err)
{
    recordings r = {.files = NULL};
    status st = read_files(&r, job_dir, err);
    if (st != OK) {
        recordings_close(&r);
        return st;
    }
    align_clocks(&r);
    find_newest(&r);
    add_tasks(&r, live);
    find_owners(&r, live);
    *ret = r;
    return OK;
}

void recordings_close(recordings *r)
{
    for (size_t i = 0; i < r->n_files; i++)
        recording_fini(&r->files[i].r);
    for (size_t i = 0; i < r->n_refused; i++)
        free(r->refused[i]);
    free(r->refused);
    free(r->files);
    free(r->tasks);
    free(r->owners);
    *r = (recordings){.files = NULL};
}
