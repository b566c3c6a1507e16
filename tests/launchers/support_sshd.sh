# An sshd of the test's own, with a port, keys and a home folder of its own; $ssh is a client for it,
# whatever the host is called, but for `nobody`, where nobody listens. Ends the test with 77 where sshd
# is not there.
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

ssh_port=$("$FREE_PORTS" 1)
cat >"$dir/sshd_config" <<END
Port $ssh_port
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
Host *
  HostName 127.0.0.1
  Port $ssh_port
  IdentityFile $dir/user_key
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
END
setpriv --pdeathsig KILL "$sshd" -D -e -f "$dir/sshd_config" 2>"$dir/sshd.log" &
ssh="ssh -T -F $dir/ssh_config"

looks=600
until $ssh anyhost true 2>/dev/null; do
    looks=$((looks - 1))
    [ "$looks" -gt 0 ] || fail "sshd does not answer: $(cat "$dir/sshd.log")"
    sleep 0.05
done
