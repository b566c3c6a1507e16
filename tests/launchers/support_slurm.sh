# shellcheck shell=sh disable=SC2154  # its user sets dir
# A Slurm of the test's own: munged, one slurmctld, three slurmd (n1, n2, n3, four CPUs each) of this
# machine, in namespaces of its own for processes and mounts, so that all end with the test and the nodes'
# names are known to nobody else. Ends the test with 77 where that cannot be.
if [ -z "${SLURM_NAMESPACE:-}" ]; then
    for tool in slurmctld slurmd munged sbatch; do
        PATH=$PATH:/usr/sbin command -v $tool >/dev/null ||
            { echo "$tool is not here (Debian: slurm-wlm)" && exit 77; }
    done
    unshare --mount --pid --fork true 2>/dev/null || { echo "no right to make namespaces here" && exit 77; }
    SLURM_NAMESPACE=yes exec unshare --mount --pid --fork --kill-child --mount-proc "$0"
fi
PATH=$PATH:/usr/sbin

# keep_node NODE: its daemon, which begins again when it ends by a fault of its own; its jobs go on meanwhile
keep_node() {
    while :; do
        slurmd -D -N "$1" >>"$dir/slurm/$1.out" 2>&1 || :
    done
}

# start_slurm: needs $dir
start_slurm() {
    printf '127.0.0.1 localhost %s n1\n127.0.0.2 n2\n127.0.0.3 n3\n' "$(hostname)" >"$dir/etc_hosts"
    mount --bind "$dir/etc_hosts" /etc/hosts
    mkdir "$dir/slurm"
    head -c 1024 /dev/urandom >"$dir/slurm/munge.key"
    chmod 400 "$dir/slurm/munge.key"
    munged --force --foreground --key-file="$dir/slurm/munge.key" --socket="$dir/slurm/munge.sock" \
        --pid-file="$dir/slurm/munge.pid" --log-file="$dir/slurm/munge.log" \
        --seed-file="$dir/slurm/munge.seed" >"$dir/slurm/munged.out" 2>&1 &
    # all of this namespace, and what they write until they are gone
    trap '[ $$ -ne 1 ] || kill -KILL -1 2>/dev/null || :; wait || :; rm -rf "$dir"' EXIT
    # shellcheck disable=SC2046  # three words
    set -- $("$FREE_PORTS" 4)
    cat >"$dir/slurm/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$1
AuthType=auth/munge
AuthInfo=socket=$dir/slurm/munge.sock,cred_expire=5
CredType=cred/munge
SlurmUser=$(id -un)
StateSaveLocation=$dir/slurm
SlurmdSpoolDir=$dir/slurm/spool-%n
SlurmctldPidFile=$dir/slurm/slurmctld.pid
SlurmdPidFile=$dir/slurm/slurmd-%n.pid
SlurmctldLogFile=$dir/slurm/slurmctld.log
SlurmdLogFile=$dir/slurm/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=sched_interval=1
KillWait=10
MinJobAge=2
NodeName=n1 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$2 CPUs=4
NodeName=n2 NodeHostname=$(hostname) NodeAddr=127.0.0.2 Port=$3 CPUs=4
NodeName=n3 NodeHostname=$(hostname) NodeAddr=127.0.0.3 Port=$4 CPUs=4
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    # its tasks need no cgroup, and newer daemons do not begin where they find none that they can use
    case $(slurmd -V) in
    *" 22."*) ;; # does not know the word
    *) echo CgroupPlugin=disabled >"$dir/slurm/cgroup.conf" ;;
    esac
    export SLURM_CONF="$dir/slurm/slurm.conf"
    slurmctld -D >"$dir/slurm/out" 2>&1 &
    for node in n1 n2 n3; do
        keep_node $node &
    done
    looks=600
    until [ "$(sinfo --noheader --format %D --states idle 2>/dev/null)" = 3 ]; do
        looks=$((looks - 1))
        [ $looks -gt 0 ] || fail "Slurm does not begin: $(tail -n 5 "$dir"/slurm/*.log)"
        sleep 0.1
    done
}
