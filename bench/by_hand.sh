#!/bin/bash
# The daemons of examples/slurm started by a plain script, in the same kind of hosts: what `underway up` is measured
# against. Each daemon starts as soon as what it needs is ready; bash's own `read` polls, so waiting forks nothing.
# Usage (root): by_hand.sh DIRECTORY EXAMPLE
#   DIRECTORY   new; everything lies below it, and all of it is gone when the script ends
#   EXAMPLE     examples/slurm: slurm.conf, slurmdbd.conf, cgroup.conf and node-health are taken from there
# Prints the milliseconds from its first line to a finished `srun -N4 hostname`.
set -euo pipefail
start=${EPOCHREALTIME/./}
self=$(realpath "$0")

compute=(c1 c2 c3 c4)
hosts=(mgmt login "${compute[@]}")
cgroups=none
[ ! -e /sys/fs/cgroup/memory/tasks ] || cgroups=v1
poll=0.01
patience=3000 # polls, 30 s and more: a daemon that does not come ends the run

exec {never}<> <(:) # a pipe that says nothing: to read from it is to sleep without a fork
pause() { read -rt $poll -u "$never" || :; }

# wait_for WHAT COMMAND…: polls until the command succeeds.
wait_for() {
  local what=$1 left=$patience
  shift
  until "$@"; do
    ((left--)) || { echo "by_hand: $what does not come" >&2; exit 1; }
    pause
  done
}

# Whether a TCP port is listened at in this network namespace.
listens() {
  local hex lines
  printf -v hex ':%04X' "$1"
  mapfile -t lines </proc/net/tcp
  [[ "${lines[*]}" =~ ${hex}\ [0-9A-F]+:0000\ 0A ]]
}

as() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }

# --- in a host ------------------------------------------------------------------------------------------------------

make_root() {
  local root=$dir/hosts/$name/root node
  mount -t overlay overlay -o "lowerdir=$dir/layer:/,upperdir=$dir/hosts/$name/upper,workdir=$dir/hosts/$name/work" "$root"
  cd "$root"
  mount -t proc proc proc
  mount -t sysfs sysfs sys
  mount -t tmpfs -o mode=755 tmpfs dev
  for node in null zero full random urandom tty; do
    : >dev/$node
    mount --bind /dev/$node dev/$node
  done
  mkdir dev/pts dev/shm
  ln -s pts/ptmx dev/ptmx
  ln -s /proc/self/fd dev/fd
  make_groups
  mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts dev/pts
  mount -t tmpfs tmpfs dev/shm
  mount -t tmpfs -o mode=755 tmpfs run
  mount -t tmpfs -o mode=1777 tmpfs tmp
  mkdir -p run/munge run/mysqld run/marks
  chown munge: run/munge
  chown mysql: run/mysqld
  mount --bind "$dir/marks" run/marks
  mount --bind "$dir/home" home
  pivot_root . mnt
  umount -l mnt
}

# As local hosts have them: a part of each hierarchy of the machine. On a machine with cgroup v2 these hosts have none,
# and Slurm is told so.
make_groups() {
  local from own file
  [ $cgroups = v1 ] || return 0
  mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
  for from in /sys/fs/cgroup/*; do
    [ -e "$from/tasks" ] || continue
    own=$from/by-hand/$name
    mkdir -p "$own" "sys/fs/cgroup/${from##*/}"
    for file in cpuset.cpus cpuset.mems; do
      [ -e "$from/$file" ] || continue
      cat "$from/$file" >"$from/by-hand/$file"
      cat "$from/$file" >"$own/$file"
    done
    mount --bind "$own" "sys/fs/cgroup/${from##*/}"
  done
}

plug_in() {
  ip link add eth0 type veth peer name "port-$name" netns "$dir/switch"
  nsenter --net="$dir/switch" ip link set "port-$name" master bridge up
  ip link set lo up
  ip addr add "10.77.0.$((10 + number))/24" dev eth0
  ip link set eth0 up
  hostname "$name"
}

sql() { mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -u root "$@" 2>/dev/null; }

start_database() {
  local data=/var/lib/mysql/cluster
  as mysql mariadb-install-db --no-defaults --datadir=$data --auth-root-authentication-method=normal --skip-test-db
  as mysql mariadbd --no-defaults --datadir=$data --socket=/run/mysqld/mysqld.sock --skip-networking \
    --skip-name-resolve --innodb-buffer-pool-size=32M --innodb-log-file-size=16M --innodb-lock-wait-timeout=900 \
    --performance-schema=OFF --skip-log-bin &
  wait_for mariadbd test -S /run/mysqld/mysqld.sock
  wait_for "an answer of mariadbd" sql -e "create database if not exists slurm_acct_db;
    create user if not exists 'slurm'@'localhost'; grant all on slurm_acct_db.* to 'slurm'@'localhost'"
}

start_services() {
  chronyd -x -d -f /etc/by-hand/chrony.conf &
  start_database
  wait_for munged test -S /run/munge/munge.socket.2
  SLURM_CONF=/etc/by-hand/slurm.conf as slurm slurmdbd -D &
  wait_for slurmdbd listens 6819
  slurmctld -D -f /etc/by-hand/slurm.conf &
  wait_for slurmctld listens 6817
  : >/run/marks/slurmctld
}

all_registered() {
  local host
  for host in "${compute[@]}"; do [ -e "/run/marks/slurmd-$host" ] || return 1; done
}

run_host() {
  mount --make-rprivate /
  plug_in
  make_root
  as munge munged --foreground --num-threads=2 &
  if [ "$name" = mgmt ]; then start_services; fi
  wait_for munged test -S /run/munge/munge.socket.2
  wait_for slurmctld test -e /run/marks/slurmctld
  if [[ $name = c* ]]; then
    slurmd -D -N "$name" --conf-server mgmt:6817 &
    wait_for slurmd listens 6818
    : >"/run/marks/slurmd-$name"
  fi
  if [ "$name" = login ]; then
    wait_for "slurmd of every compute host" all_registered
    SLURM_CONF=/etc/by-hand/slurm.conf srun -N4 hostname >/run/marks/srun.out
    mv /run/marks/srun.out /run/marks/srun
  fi
  read -r -u "$never" # as pid 1: bash reaps, and goes when it is killed
}

if [ "${1:-}" = --host ]; then
  name=$2 number=$3 dir=$4
  run_host
fi

# --- on the machine -------------------------------------------------------------------------------------------------

dir=$1 example=$(realpath "$2")
launchers=()
finish() {
  local status=$?
  trap - EXIT INT TERM
  for pid in "${launchers[@]}"; do kill -KILL "$pid" 2>/dev/null || :; done
  wait 2>/dev/null || :
  [ $status = 0 ] || tail -n 3 "$dir"/console/* >&2 || :
  find /sys/fs/cgroup/*/by-hand -depth -type d -exec rmdir {} + 2>/dev/null || :
  umount "$dir/switch" 2>/dev/null || :
  umount -l "$dir" 2>/dev/null || :
  rmdir "$dir" 2>/dev/null || :
  exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

# What a template of the example gives on this machine.
render() {
  awk -v cgroups=$cgroups '
    /^%[{] if slurm.machine.cgroup == "none"/ { skip = cgroups != "none"; next }
    /^%[{] if / { skip = 1; next }
    /^%[{] else/ { skip = !skip; next }
    /^%[{] endif/ { skip = 0; next }
    !skip' "$1" |
    sed -e 's/${controller}/mgmt/; s/${slurm.pools.compute.nodes}/c[1-4]/' -e 's/${[^}]*? "[^"]*" : "\([^"]*\)"}/\1/' \
      -e "s/^\${slurm.pools.compute.node_line}\$/NodeName=c[1-4] $(slurmd -C | sed -n '1s/^NodeName=[^ ]* //p') State=UNKNOWN/"
}

write_layer() {
  local number=0 host
  mkdir -p "$dir"/layer/etc/by-hand "$dir"/marks "$dir"/console
  for host in "${hosts[@]}"; do
    mkdir -p "$dir/hosts/$host"/{upper,work,root}
    echo "10.77.0.$((10 + number++)) $host"
  done >"$dir/layer/etc/hosts"
  echo 127.0.0.1 localhost >>"$dir/layer/etc/hosts"
  : >"$dir/layer/etc/resolv.conf"
  sed 's/^hosts:.*/hosts: files dns/' /etc/nsswitch.conf >"$dir/layer/etc/nsswitch.conf"
  cd "$dir/layer/etc/by-hand"
  printf '%s\n' 'local stratum 3' 'allow 10.77.0.0/24' 'cmdport 0' 'pidfile /run/chronyd.pid' >chrony.conf
  render "$example/slurm.conf" >slurm.conf
  render "$example/cgroup.conf" >cgroup.conf
  mkdir -p "$dir/layer/usr/local/sbin" "$dir/home"
  cp "$example/node-health" "$dir/layer/usr/local/sbin"
  # Without a password: the database here is of this script alone.
  grep -v '^StoragePass' "$example/slurmdbd.conf" >slurmdbd.conf
  chown slurm: slurmdbd.conf
  chmod 600 slurmdbd.conf
  cd /
}

srun_ended() {
  local pid
  [ -e "$dir/marks/srun" ] && return
  for pid in "${launchers[@]}"; do
    kill -0 "$pid" 2>/dev/null || { echo "by_hand: a host died" >&2; exit 1; }
  done
  return 1
}

mkdir "$dir"
mount -t tmpfs -o mode=755 tmpfs "$dir"
write_layer
: >"$dir/switch"
unshare --net="$dir/switch" sh -c 'ip link add bridge type bridge; ip link set bridge up'
for number in "${!hosts[@]}"; do
  name=${hosts[number]}
  unshare -n -u -m -i -p -C --fork --kill-child "$self" --host "$name" "$number" "$dir" \
    </dev/null >"$dir/console/$name" 2>&1 &
  launchers+=($!)
done
wait_for "the end of srun" srun_ended
end=${EPOCHREALTIME/./}
[ "$(sort -u "$dir/marks/srun" | wc -l)" = 4 ] || { echo "by_hand: srun did not reach four hosts" >&2; exit 1; }
echo $(((end - start) / 1000))
