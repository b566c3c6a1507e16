# shellcheck shell=sh
# sshd's of the test's own, with ports, keys and home folders of their own; $ssh is a client for them. Host
# `apart` shares neither the home folder nor $dir/apart with the others, all of which are this machine;
# $has_apart says whether there is one. At host `nobody` nobody listens. Ends the test with 77 where
# sshd is not there.
sshd=$(command -v sshd || echo /usr/sbin/sshd)
[ -x "$sshd" ] || { echo "sshd is not here (Debian: openssh-server)" && exit 77; }
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd

ssh-keygen -q -t ed25519 -N '' -f "$dir/host_key"
ssh-keygen -q -t ed25519 -N '' -f "$dir/user_key"
mkdir "$dir/home"
{
    printf 'environment="HOME=%s" ' "$dir/home"
    cat "$dir/user_key.pub"
} >"$dir/authorized_keys"

# shellcheck disable=SC2046  # two words
set -- $("$FREE_PORTS" 2)
ssh_port=$1 apart_port=$2
mkdir "$dir/apart"
cat >"$dir/sshd_config" <<END
ListenAddress 127.0.0.1
HostKey $dir/host_key
PidFile none
AuthorizedKeysFile $dir/authorized_keys
PermitUserEnvironment yes
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
MaxStartups 100
END
cat >"$dir/ssh_config" <<END
Host nobody
  Port 1
Host apart
  Port $apart_port
Host *
  HostName 127.0.0.1
  Port $ssh_port
  IdentityFile $dir/user_key
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
END
setpriv --pdeathsig KILL "$sshd" -D -e -p "$ssh_port" -f "$dir/sshd_config" 2>"$dir/sshd.log" &
ssh="ssh -T -F $dir/ssh_config"
has_apart=no
if unshare --mount true 2>/dev/null; then
    has_apart=yes
    setpriv --pdeathsig KILL unshare --mount sh -c "
        mount -t tmpfs none '$dir/home' && mount -t tmpfs none '$dir/apart' &&
        exec '$sshd' -D -e -p $apart_port -f '$dir/sshd_config'" 2>"$dir/apart.log" &
fi

# answers HOST LOG: waits until it does
answers() {
    looks=600
    until $ssh "$1" true 2>/dev/null; do
        looks=$((looks - 1))
        [ "$looks" -gt 0 ] || fail "sshd does not answer: $(cat "$dir/$2")"
        sleep 0.05
    done
}
answers one sshd.log
[ $has_apart = no ] || answers apart apart.log
