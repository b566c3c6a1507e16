# shellcheck shell=sh
# A dockerd of the test's own, in namespaces of its own, so that its containers, mounts and networks end with
# the test and nobody else's are touched. Ends the test with 77 where that cannot be.
if [ -z "${DOCKER_NAMESPACE:-}" ]; then
    for tool in dockerd docker docker-init; do
        PATH=$PATH:/usr/sbin command -v $tool >/dev/null ||
            { echo "$tool is not here (Debian: docker.io)" && exit 77; }
    done
    docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null ||
        { echo "neither docker compose nor docker-compose is here (Debian: docker-compose)" && exit 77; }
    unshare --mount --pid --net --ipc --uts --fork true 2>/dev/null ||
        { echo "no right to make namespaces here" && exit 77; }
    DOCKER_NAMESPACE=yes exec unshare --mount --pid --net --ipc --uts --fork --kill-child --mount-proc "$0"
fi
PATH=$PATH:/usr/sbin

# start_docker: needs $dir
start_docker() {
    mount -t tmpfs tmpfs /run # where it keeps everything
    export DOCKER_HOST="unix://$dir/docker.sock"
    unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH
    dockerd --host "$DOCKER_HOST" --data-root /run/docker-data >"$dir/dockerd.log" 2>&1 &
    dockerd=$!
    looks=600
    until docker version >/dev/null 2>&1; do
        looks=$((looks - 1))
        if [ $looks -eq 0 ] || ! kill -0 $dockerd 2>/dev/null; then
            echo "dockerd cannot run here: $(tail -n 1 "$dir/dockerd.log")"
            exit 77
        fi
        sleep 0.1
    done
    tar -C "$(dirname "$(command -v docker-init)")" -ch docker-init | docker import - probe >/dev/null
    docker run --rm probe /docker-init --version >"$dir/probe" 2>&1 ||
        { echo "containers cannot run here: $(tail -n 1 "$dir/probe")" && exit 77; }
}
