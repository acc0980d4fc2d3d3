# SPDX-License-Identifier: Apache-2.0
# What build/run and build/test share. Source it; needs bash. All names begin with brg_.

brg_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
brg_jobs=$(nproc 2>/dev/null || echo 2)

# What is needed to build, and what the tests want besides. A test whose program is absent is skipped.
brg_build_packages="cmake ninja-build gcc pkg-config libapr1-dev libaprutil1-dev libpcre2-dev libssl-dev zlib1g-dev libbrotli-dev libzstd-dev libmaxminddb-dev openssl libcmocka-dev libcrypt-dev
    libc6-dev python3"
brg_test_packages="python3-pytest python3-pytest-xdist clang libclang-rt-dev g++ apache2 apache2-dev apache2-utils nginx wrk curl procps
    bird2 valgrind strace binutils lld git ssl-cert haproxy memcached redis-server nghttp2-client chromium libnss3-tools
    gunicorn uwsgi-core uwsgi-plugin-python3"

# Modules of other projects that test/compat/test_packages.py drives: a few of the many, small ones.
brg_module_packages="libapache2-mod-php libapache2-mod-wsgi-py3 libapache2-mod-fcgid libapache2-mod-security2
    libapache2-mod-xsendfile"

brg_say() { printf '%s\n' "$*" >&2; }
brg_fail() { brg_say "$*"; exit 1; }

# Those of the named packages that are not installed.
brg_missing() {
    local package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || printf '%s ' "$package"
    done
}

# Install packages so that none of their services starts: policy-rc.d says no for as long as it takes. One that
# was there before comes back afterwards, whatever happens.
brg_apt_install() {
    local policy=/usr/sbin/policy-rc.d kept=
    kept=$(mktemp -d) || return 1
    # A subshell of its own, so that its EXIT trap restores the file on any way out.
    (
        if [ -e "$policy" ] || [ -L "$policy" ]; then
            cp -a "$policy" "$kept/policy-rc.d"
        fi
        restore() {
            rm -f "$policy"
            if [ -e "$kept/policy-rc.d" ] || [ -L "$kept/policy-rc.d" ]; then
                cp -a "$kept/policy-rc.d" "$policy"
            fi
        }
        trap restore EXIT
        trap 'exit 129' HUP
        trap 'exit 130' INT
        trap 'exit 143' TERM
        rm -f "$policy"
        printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod 755 "$policy" || exit 1
        export DEBIAN_FRONTEND=noninteractive
        apt-get install -y --no-install-recommends "$@" || { apt-get update && apt-get install -y --no-install-recommends "$@"; }
    ) >&2
    local result=$?
    rm -rf "$kept"
    return $result
}

# brg_need required|optional PACKAGE...: install what is missing, or say how.
brg_need() {
    local how=$1 missing
    shift
    if ! command -v dpkg-query > /dev/null; then
        [ "$how" = optional ] || brg_say "This is no Debian: have these or their like installed: $*"
        return 0
    fi
    missing=$(brg_missing "$@")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ]; then
        brg_say "Installing: $missing"
        # shellcheck disable=SC2086
        if brg_apt_install $missing; then
            return 0
        fi
        [ "$how" = optional ] || brg_fail "Could not install: $missing"
        # One that is not to be had must not keep the others out.
        local package
        for package in $missing; do
            brg_apt_install "$package" || brg_say "Not to be had: $package (what needs it is skipped)"
        done
        return 0
    fi
    brg_say "Not installed: $missing"
    brg_say "To install:    sudo apt-get install --no-install-recommends $missing"
    [ "$how" = optional ] || exit 1
}

# brg_keep_enabled COMMAND...: run it; what Apache has enabled is the same before and after. Packages of modules
# enable them, and the tests compare servers with the configuration that Debian begins with.
brg_keep_enabled() {
    local etc=/etc/apache2 kept folder result
    kept=$(mktemp -d) || return 1
    for folder in mods-enabled conf-enabled; do
        [ ! -d "$etc/$folder" ] || cp -a "$etc/$folder" "$kept/"
    done
    "$@"
    result=$?
    for folder in mods-enabled conf-enabled; do
        [ -d "$kept/$folder" ] && [ -w "$etc/$folder" ] || continue
        find "$etc/$folder" -mindepth 1 -delete
        cp -a "$kept/$folder/." "$etc/$folder/"
    done
    rm -rf "$kept"
    return $result
}

# brg_report FOLDER NAME passed|failed|skipped TEXT: a JUnit report of one test.
brg_report() {
    local inner=
    case $3 in
        failed) inner="<failure message=\"$4\"/>" ;;
        skipped) inner="<skipped message=\"$4\"/>" ;;
    esac
    printf '<testsuite name="%s" tests="1"><testcase name="%s">%s</testcase></testsuite>\n' "$2" "$2" "$inner" > "$1/$2.xml"
    brg_say "$2: $3${4:+ ($4)}"
}

# The place for what is built must be ours: a build by root leaves one that nobody else can write to.
brg_writable_out() {
    mkdir -p "$brg_root/out" 2>/dev/null
    local dir
    for dir in "$brg_root/out" "$brg_root"/out/*/; do
        [ ! -e "$dir" ] || [ -w "$dir" ] || brg_fail "$(id -un) cannot write to ${dir%/}: it belongs to $(stat -c %U "$dir"). Remove it, or clone anew."
    done
}

# brg_progress: how far the build is whose output goes to $brg_log: in place on a terminal, a line a minute elsewhere. Ends when it is killed.
brg_progress() {
    local at shown='' pause=60
    [ ! -t 2 ] || pause=1
    while sleep $pause; do
        at=$(tail -c 4096 "$brg_log" 2> /dev/null | grep -ao '^\[[0-9]*/[0-9]*\]' | tail -n 1)
        [ -n "$at" ] && [ "$at" != "$shown" ] || continue
        shown=$at
        if [ -t 2 ]; then printf '\r  %s files' "$at" >&2; else brg_say "  $at files"; fi
    done
}

# brg_build PRESET [TARGET]: configure and build out/PRESET, or one target of it.
brg_build() {
    local preset=$1 watcher result
    shift
    brg_progress &
    watcher=$!
    (cd "$brg_root" && cmake --preset "$preset" && cmake --build --preset "$preset" -j "$brg_jobs" ${1:+--target "$@"}) \
        > "$brg_log" 2>&1
    result=$?
    kill "$watcher" 2> /dev/null
    wait "$watcher" 2> /dev/null
    [ ! -t 2 ] || printf '\r\033[K' >&2
    [ $result != 0 ] || return 0
    grep -aE -A8 '(error|Error):|CMake Error|undefined reference|No space left' "$brg_log" | head -n 60 >&2
    tail -n 3 "$brg_log" >&2
    return 1
}

# brg_have_h2spec: the conformance test of HTTP/2 on PATH, from out/tools where Go can build it.
brg_have_h2spec() {
    PATH=$brg_root/out/tools:$PATH
    command -v h2spec > /dev/null || [ -x "$HOME/go/bin/h2spec" ] && return 0
    command -v go > /dev/null &&
        GOBIN=$brg_root/out/tools GOFLAGS=-modcacherw timeout 300 go install github.com/summerwind/h2spec/cmd/h2spec@latest > "$brg_root/out/h2spec.log" 2>&1 &&
        return 0
    brg_say "h2spec is not there (Go builds it): conformance of HTTP/2 is not tested"
}

# brg_have_markup_checker: the Nu Html Checker in out/tools, where npm can get it and java run it (test/e2e/tools/test_pages.py).
brg_have_markup_checker() {
    local folder=$brg_root/out/tools
    [ -n "${VNU_JAR:-}" ] || [ -e "$folder/node_modules/vnu-jar/build/dist/vnu.jar" ] && return 0
    command -v java > /dev/null && command -v npm > /dev/null && mkdir -p "$folder" &&
        timeout 300 npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" vnu-jar > "$brg_root/out/markup-checker.log" 2>&1 &&
        return 0
    brg_say "The checker of markup is not there (npm gets it, java runs it): pages are looked at in a browser alone"
}

# A python3 that has pytest; nothing if there is none.
brg_python() {
    local python
    for python in /usr/bin/python3 python3; do
        if "$python" -c 'import pytest' 2>/dev/null; then
            echo "$python"
            return 0
        fi
    done
    return 1
}

# brg_can_read USER DIRECTORY: may that user enter the directory and read a file in it? Only root can ask.
brg_can_read() {
    local shell='cd "$1" && find . -type f -exec test ! -r {} \; -print -quit | (! grep -q .)'
    if command -v setpriv > /dev/null; then
        setpriv --reuid "$1" --regid "$(id -g "$1")" --clear-groups sh -c "$shell" sh "$2" 2>/dev/null
    else
        su -s /bin/sh "$1" -c "$shell" sh "$2" 2>/dev/null
    fi
}

# A user that is not root, to serve as.
brg_unprivileged_user() {
    local user
    for user in www-data nobody; do
        if id -u "$user" > /dev/null 2>&1; then
            echo "$user"
            return 0
        fi
    done
    return 1
}
