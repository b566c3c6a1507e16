# Helpers for the system tests whose hosts are network namespaces on one bridge; source it instead of
# support_tasks.sh, then make_hosts.
# shellcheck disable=SC2154  # support.sh sets dir
. "$(dirname "$0")/support_tasks.sh"
net=tq$$

# w0: 10.77.2.1, and so on
address_of() {
    case $1 in
    m?) echo "10.77.1.$((1 + ${1#m}))" ;;
    w?) echo "10.77.2.$((1 + ${1#w}))" ;;
    p?) echo "10.77.3.$((1 + ${1#p}))" ;;
    esac
}

end_hosts() {
    for host in $hosts; do ip netns del "$net$host" 2>/dev/null || :; done
    ip netns del $net
}

# make_hosts NAME...: each m0, m1, w0, w1, p0, ...; ends the test with 77 where they are not permitted
make_hosts() {
    hosts=$*
    if ! ip netns add $net 2>"$dir/err"; then
        echo "skipped: network namespaces are not permitted here ($(head -n 1 "$dir/err"))"
        exit 77
    fi
    trap 'end_tasks; end_hosts; [ -n "${KEEP:-}" ] || rm -rf "$dir"' EXIT
    ip -n $net link add hub type bridge
    ip -n $net link set hub up
    for host in $hosts; do
        ip netns add "$net$host"
        ip -n $net link add "$host" type veth peer name eth0 netns "$net$host"
        ip -n $net link set "$host" master hub up
        ip -n "$net$host" address add "$(address_of "$host")/16" dev eth0
        ip -n "$net$host" link set eth0 up
        ip -n "$net$host" link set lo up
    done
}

cut_link() { ip -n $net link set "$1" down; }
heal_link() { ip -n $net link set "$1" up; }

# slow_link HOST RATE: both ways, by a token bucket; ends the test with 77 where there is none
slow_link() {
    for end in "$net $1" "$net$1 eth0"; do
        if ! tc -n "${end% *}" qdisc add dev "${end#* }" root tbf rate "$2" burst 32kbit latency 400ms 2>"$dir/err"; then
            echo "skipped: tc makes no token bucket here ($(head -n 1 "$dir/err"))"
            exit 77
        fi
    done
}

# quicken_link HOST
quicken_link() {
    tc -n $net qdisc del dev "$1" root
    tc -n "$net$1" qdisc del dev eth0 root
}
