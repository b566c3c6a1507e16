# shellcheck shell=sh
# Helpers for the tests in another Debian; source it first.
. "$(dirname "$0")/../system/support.sh"
limit=3000

skip() {
    echo "$*"
    exit 77
}

# take_debian SUITE [PACKAGES]: one to which nothing was done but that, for in_debian, and $dir/tequio, what git does
# not ignore. Ends the test with 77 where there can be none, or no packages for it.
take_debian() {
    suite=$1 packages=${2:-} before=
    folder=$("$SOURCE_DIR/packaging/chroot" --folder "$suite" "$packages" 2>"$dir/err") ||
        skip "$(tail -n 1 "$dir/err")"
    unshare --mount --pid --fork true 2>/dev/null || skip "no right to make namespaces here"
    mirror=$(sed -n 's/^deb \([^ ]*\) .*/\1/p' "$folder/etc/apt/sources.list" | head -n 1)
    wget --quiet --timeout=20 --tries=2 --output-document=/dev/null "${mirror%/}/dists/$suite/Release" ||
        skip "'$mirror', where packages would come from, does not answer"
    mkdir "$dir/tequio" "$dir/host"
    tar -C "$SOURCE_DIR" --exclude=./.git --exclude=./build --exclude=./runs -cf - . | tar -C "$dir/tequio" -xf -
    cp /etc/ssl/certs/ca-certificates.crt "$dir/host" 2>/dev/null || : # networks may have their own
}

# in_debian COMMANDS: in the copy of the repository, with what a login has and what this network wants. They
# pass, and only what they leave in there outlives them. $before: a command that runs all this.
in_debian() {
    wanted=$(env | grep -iE '^((https?|no)_proxy|PIP_INDEX_URL)=' || :)
    [ ! -e "$dir/host/ca-certificates.crt" ] || wanted="$wanted PIP_CERT=/host/ca-certificates.crt"
    # shellcheck disable=SC2086  # a word each
    run $before "$SOURCE_DIR/packaging/chroot" --bind "$dir/tequio:/root/tequio" --bind "$dir/host:/host" \
        "$suite" "$packages" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb $wanted sh -euc "cd /root/tequio; $1"
    [ "$code" -eq 0 ] || fail "it ended with $code in $suite"
    ! grep -F 'warning: ' "$dir/out" "$dir/err" || fail "the compiler warns in $suite"
}

# builds_and_trains SUITE: with no other packages than scripts/setup installs the program is built and trains. For
# every run of the tests: compilers take half a minute of a processor's time over it, for they do not optimise,
# and the packages as much; with optimisation it would be two minutes.
builds_and_trains() {
    take_debian "$1"
    "$MAKE_IDX" "$dir/tequio/train" 256
    "$MAKE_IDX" "$dir/tequio/validation" 64 8
    write_config train/images-idx3-ubyte validation/images-idx3-ubyte
    cp "$dir/config.jsonnet" "$dir/tequio"
    in_debian '
        scripts/setup
        cmake --preset debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DBUILD_TESTING=OFF -DTEQUIO_CUDA=OFF
        nice cmake --build --preset debug
        export OMP_WAIT_POLICY=passive PATH=$PWD/build/debug:$PATH
        tequio train config.jsonnet -s alone
        tequio train config.jsonnet -s six --workers 2 --ps 2 --evaluators 1
        umount -l /proc
        ! tequio train config.jsonnet -s none --workers 2 2>without_proc'
    alone=$(json "$dir/tequio/alone/summary.json" params_sha256)
    six=$(json "$dir/tequio/six/summary.json" params_sha256)
    [ "${#alone}" -eq 64 ] || fail "no params_sha256 in summary.json"
    [ "$alone" = "$six" ] || fail "six processes have other weights than one"
    grep -qF 'No such file or directory; is /proc mounted?' "$dir/tequio/without_proc" || fail "no word of /proc"
}

# starts_as_told SUITE: the README's first command ends as the README says, and unit tests and the quick ones of the
# program pass. Too long for every run: the command takes three minutes of a processor's time, the tests more.
starts_as_told() {
    take_debian "$1"
    in_debian '
        scripts/quickstart
        scripts/setup g++ libcmocka-dev
        cmake --preset release -DBUILD_TESTING=ON -DTEQUIO_CUDA=OFF -DTEQUIO_CUDA_EMU=OFF
        nice cmake --build --preset release
        ctest --preset release -L "unit|smoke" -j "$(nproc)" --repeat until-pass:2'
    grep 'test accuracy, on 10000 images that no training saw: 0\.9' "$dir/out" || fail "it does not learn"
    sed -n '/tests passed/,$p' "$dir/out"
}
