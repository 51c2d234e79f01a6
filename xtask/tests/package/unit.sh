# Does with the service of an unpacked package what systemd does: starts, reloads and stops it. What the unit asks for is made by hand,
# as far as namespaces go: a root directory with the package's files that is read-only but for the unit's own directories, a /dev, /proc,
# /tmp and network of its own, an account that may bind low ports and nothing else. Not made is the filter of system calls.
#
#   unshare --mount --net --pid --fork --kill-child sh unit.sh ROOT CONFIG SERVER
#
# ROOT: where the package was unpacked. CONFIG: what the operator writes after the first start. SERVER: config of a Weir that is the
# server. Tells on standard output how each step ended; what the programs say goes to standard error.
set -eu
root=$1 config=$2 server=$3
unit=$root/lib/systemd/system/weir.service
account=64999

settings() { sed -n "s/^$1=//p" "$unit"; }

# A program and its libraries into the root directory.
install_program() {
    [ -e "$root$1" ] || { mkdir -p "$root$(dirname "$1")" && cp -L "$1" "$root$1"; }
    ldd "$root$1" | grep -o '/[^ ]*' | while read -r library; do
        [ -e "$root$library" ] || { mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"; }
    done
}

# A directory that is the account's own.
own_directory() {
    mkdir -p "$root$1"
    mount -t tmpfs -o "mode=$2,uid=$account,gid=$account" none "$root$1"
}

ip link set lo up
mount --make-rprivate /
mount --bind "$root" "$root"
chmod 755 "$root"
for program in /usr/sbin/weir /usr/bin/setpriv /bin/kill; do install_program "$program"; done
mkdir -p "$root/dev" "$root/proc" "$root/tmp"
mount -t tmpfs -o mode=755 none "$root/dev"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/zero" c 1 5
mknod -m 666 "$root/dev/random" c 1 8
mknod -m 666 "$root/dev/urandom" c 1 9
mount -t tmpfs -o mode=1777 none "$root/tmp"
mount -t proc -o hidepid=2 none "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
own_directory "/run/$(settings RuntimeDirectory)" "$(settings RuntimeDirectoryMode)"
own_directory "/var/lib/$(settings StateDirectory)" "$(settings StateDirectoryMode)"
own_directory "/var/log/$(settings LogsDirectory)" "$(settings LogsDirectoryMode)"
# The operator, who is root, can still write here.
mount --bind "$root/etc" "$root/etc"
mount -o remount,bind,ro "$root"

capabilities=$(settings AmbientCapabilities | tr '[:upper:]' '[:lower:]' | sed 's/^cap_//')
as_unit() {
    umask "$(settings UMask)"
    # In a container root may not have the right to.
    ulimit -n "$(settings LimitNOFILE)" 2> /dev/null || :
    exec chroot "$root" /usr/bin/setpriv --reuid="$account" --regid="$account" --clear-groups --no-new-privs \
        --bounding-set="-all,+$capabilities" --inh-caps="-all,+$capabilities" --ambient-caps="-all,+$capabilities" "$@"
}

# Tells what is answered at an address, as soon as somebody answers there.
ask() {
    tries=600
    until answer=$(curl -s --max-time 20 -w '%{http_code}' "$2"); do
        kill -0 "$main" || { echo "$1: the service has ended" && exit 1; }
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || { echo "$1: nobody answers" && exit 1; }
        sleep 0.05
    done
    echo "$1: $answer" | tr '\n' ' ' && echo
}

as_unit $(settings ExecStart) >&2 &
main=$!
ask welcome http://127.0.0.1:8080/
ask health http://127.0.0.1:8404/healthz > /dev/null

"$root/usr/sbin/weir" run "$server" >&2 &
ask server http://127.0.0.1:9000/ > /dev/null
cp "$config" "$root/etc/weir/weir.toml"
settings ExecReload | sed "s/\$MAINPID/$main/" > "$root/tmp/reload"
while read -r line; do
    status=0
    (as_unit $line) < /dev/null >&2 || status=$?
    echo "reload: $status"
done < "$root/tmp/reload"
ask served http://127.0.0.1:80/

status=0
(as_unit /usr/sbin/weir ctl weight web/app 3) >&2 || status=$?
echo "command: $status"
[ -s "$root/var/lib/weir/state.toml" ] && echo "state: kept"

kill -TERM "$main"
status=0
wait "$main" || status=$?
echo "stopped: $status"
echo "logged: $(grep -c '"GET / HTTP/1.1" 200' "$root/var/log/weir/access.log")"
