# Helpers for the system tests that start the tasks of a cluster one by one, each by its TF_CONFIG,
# and do things to them while they run; source it instead of support.sh.
# shellcheck disable=SC2154,SC3043  # support.sh sets dir and limit
. "$(dirname "$0")/support.sh"
unset TF_CONFIG CLUSTER_SPEC
limit=${TEST_LIMIT:-60}

tasks=   # "worker.0=PID ...": what runs, or has ended unread

end_tasks() {
    for pair in $tasks; do
        kill -KILL "${pair#*=}" 2>/dev/null || :
    done
    tasks=
}
trap 'end_tasks; rm -rf "$dir"' EXIT

# await_that WHAT COMMAND...: until the command succeeds. What takes longer than some seconds is looked for less often: a
# look costs processes.
await_that() {
    awaited=$1 looks=0 pause=0.02
    shift
    until "$@" 2>/dev/null; do
        looks=$((looks + 1))
        [ "$looks" -lt 200 ] || pause=0.1
        [ "$looks" -lt $((200 + limit * 10)) ] || show_tasks "not within $limit s: $awaited"
        sleep $pause
    done
}

# cluster_of WORKERS SERVERS: $cluster, with a chief, on ports that are free now
cluster_of() {
    # shellcheck disable=SC2046  # one word a port
    set -- "$1" "$2" $("$FREE_PORTS" $((1 + $1 + $2)))
    left=$1 chief=127.0.0.1:$3
    shift 3
    workers= servers=
    for port; do
        if [ "$left" -gt 0 ]; then
            workers="$workers${workers:+, }\"127.0.0.1:$port\""
            left=$((left - 1))
        else
            servers="$servers${servers:+, }\"127.0.0.1:$port\""
        fi
    done
    cluster="{\"chief\": [\"$chief\"], \"worker\": [$workers], \"ps\": [$servers]}"
}

# background NAME COMMAND...: one more of $tasks; what it prints in $dir/NAME.log
background() {
    name=$1
    shift
    : >"$dir/$name.log" # now, not when the process comes to it: nobody may read an older one's
    "$@" >"$dir/$name.log" 2>&1 &
    tasks="$tasks $name=$!"
}

# task TYPE INDEX [OPTION...]: a task of $cluster that works on $job_dir, or else $dir/job
task() {
    type=$1 index=$2
    shift 2
    background "$type.$index" \
        env TF_CONFIG="{\"cluster\": $cluster, \"task\": {\"type\": \"$type\", \"index\": $index}}" \
        "$TEQUIO" train "$dir/config.jsonnet" --job-dir "${job_dir:-$dir/job}" "$@"
}

# all_tasks WORKERS SERVERS [OPTION...]: every task of such a cluster, servers first
all_tasks() {
    n_workers=$1 n_servers=$2
    cluster_of "$1" "$2"
    shift 2
    for index in $(seq 0 $((n_servers - 1))); do task ps "$index" "$@"; done
    for index in $(seq 0 $((n_workers - 1))); do task worker "$index" "$@"; done
    task chief 0 "$@"
}

# forget NAME: it is one of them no more
forget() {
    kept=
    for pair in $tasks; do
        [ "${pair%=*}" = "$1" ] || kept="$kept $pair"
    done
    tasks=$kept
}

pid_of() {
    for pair in $tasks; do
        [ "${pair%=*}" != "$1" ] || echo "${pair#*=}"
    done
}

# kill_task NAME: it is gone, and its port free
kill_task() {
    pid=$(pid_of "$1")
    kill -KILL "$pid"
    wait "$pid" || :
    forget "$1"
}

# pid_playing TASK: of the task of a local cluster that works on $dir/job, e.g. worker.1
pid_playing() {
    type=${1%.*} index=${1#*.}
    [ "$type" != master ] || type=chief
    for words in $(grep -lzxF -- "$dir/job" /proc/[0-9]*/cmdline 2>/dev/null); do
        process=${words%/cmdline}
        if grep -qzF "\"task\":{\"index\":$index,\"type\":\"$type\"}" "$process/environ" 2>/dev/null; then
            echo "${process#/proc/}"
            return
        fi
    done
    fail "no process plays $1"
}

log_says() {
    grep -qF -- "$2" "$dir/$1.log"
}

# await_log NAME TEXT: until the task says it
await_log() {
    await_that "$1 says: $2" log_says_or_ended "$1" "$2"
    log_says "$1" "$2" || show_tasks "$1 ended before it said: $2"
}

log_says_or_ended() {
    log_says "$1" "$2" || ! kill -0 "$(pid_of "$1")"
}

# show_tasks WHY: the test fails; every task's last lines
show_tasks() {
    for log in "$dir"/*.log; do
        { echo "--- $(basename "$log")" && tail -n 12 "$log"; } >&2
    done
    fail "$1"
}

# all_end CODE WHY: every task ends by itself with the code, within the limit
all_end() {
    for pair in $tasks; do
        await_that "$2: ${pair%=*} ends" has_ended "${pair#*=}"
        code=0
        wait "${pair#*=}" || code=$?
        [ "$code" -eq "$1" ] || show_tasks "$2: ${pair%=*} ended with $code, not $1"
    done
    tasks=
}

# Gone, or a zombie that waits for us.
has_ended() {
    case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
    '' | Z*) return 0 ;;
    esac
    return 1
}

# newest_step: of the committed checkpoints of $dir/job
newest_step() {
    for manifest in "$dir"/job/checkpoints/step-?????????/manifest.json; do
        [ ! -e "$manifest" ] || step=$(basename "$(dirname "$manifest")")
    done
    echo "${step#step-}" | sed 's/^0*//'
}
