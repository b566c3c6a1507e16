# shellcheck shell=sh
# Helpers for the tests of what packaging/make makes; source it first. They end with 77 where there is no
# root, no debootstrap or no network to make a Debian with.
. "$(dirname "$0")/../system/support.sh"
unset TF_CONFIG CLUSTER_SPEC
limit=3600
pack=$SOURCE_DIR/packaging
package=$SOURCE_DIR/build/package

skip() {
    echo "$*"
    exit 77
}
[ "$(id -u)" -eq 0 ] || skip "no root here, and Debians are made by that"
PATH=$PATH:/usr/sbin command -v debootstrap >/dev/null || skip "debootstrap is not here (Debian: debootstrap)"
unshare --mount --pid --fork true 2>/dev/null || skip "no right to make namespaces here"
"$pack/chroot" --folder trixie '' >/dev/null 2>"$dir/err" || skip "$(tail -n 1 "$dir/err")"

# make WHAT...: packaging/make, whose files are then below $package
make() {
    run "$pack/make" "$@"
    [ "$code" -eq 0 ] || fail "packaging/make $* ended with $code"
}

# bare SUITE FOLDER: the files of that Debian's glibc, and nothing else
bare() {
    folder=$("$pack/chroot" --folder "$1" '')
    mkdir -p "$2/usr/lib" "$2/usr/lib64" "$2/tmp" "$2/proc" "$2/dev/shm"
    ln -s usr/lib usr/lib64 "$2"
    grep -h '\.so[.0-9]*$' "$folder"/var/lib/dpkg/info/libc6:amd64.list | while read -r file; do
        mkdir -p "$2$(dirname "$file")"
        cp "$folder$(chroot "$folder" readlink -f "$file")" "$2$file"
    done
}

# "$dir/in_bare" FOLDER COMMAND...: in namespaces that end with it, and with $dir of the same name
cat >"$dir/in_bare" <<'END'
#!/bin/sh
exec unshare --mount --pid --fork --kill-child sh -euc '
    dir=$1
    cd "$2"
    shift 2
    mkdir -p ".$dir"
    mount --bind "$dir" ".$dir"
    mount -t proc proc proc
    mount -t tmpfs tmpfs dev/shm
    : >>dev/null
    mount --bind /dev/null dev/null
    exec chroot . "$@"' sh "$(dirname "$0")" "$@"
END
chmod +x "$dir/in_bare"
