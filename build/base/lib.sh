# SPDX-License-Identifier: Apache-2.0
# What runs inside a root of build/bases shares this. Source it; needs bash.

base_top=/root/brigade
base_reports=/reports
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
. "$base_top/build/lib.sh"

# check NAME COMMAND...: a test that passes if the command does. Returns what the command did.
check() {
    local name=$1
    shift
    echo "== $name: $*"
    if "$@"; then
        brg_report "$base_reports" "$name" passed ""
    else
        brg_report "$base_reports" "$name" failed "see the log"
        return 1
    fi
}

# answers PORT [PATH]: is that page there? Without curl, which a minimal root has not.
answers() {
    local line
    exec 3<> "/dev/tcp/127.0.0.1/$1" || return 1
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "${2:-/}" >&3
    IFS= read -r -t 20 line <&3
    exec 3>&-
    case $line in
        "HTTP/1.1 200 "*) return 0 ;;
        *) echo "the answer: $line"; return 1 ;;
    esac
}

# free_port: a port that nobody listens on.
free_port() {
    local port
    for port in $(shuf -i 20000-32000 -n 50); do
        (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null || { echo "$port"; return; }
    done
}

# until_true COMMAND...: within two minutes.
until_true() {
    local try
    for ((try = 0; try < 1200; try++)); do
        "$@" > /dev/null 2>&1 && return 0
        read -r -t 0.1 _ < <(tail -f /dev/null --pid=$$) || true
    done
    "$@"
}
