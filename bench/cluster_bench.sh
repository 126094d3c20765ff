#!/bin/bash
# The whole program on real daemons: how long `underway up examples/slurm` takes to a finished `srun -N4 hostname`,
# beside the same daemons started by a plain script (by_hand.sh), and what an idle node's agent and keepers cost,
# beside slurmd. Usage (root): cluster_bench [ROUNDS [IDLE_SECONDS]]; 5 rounds and 60 s take about two minutes.
set -euo pipefail

source=@CMAKE_SOURCE_DIR@
build=@CMAKE_BINARY_DIR@
underway=$build/bin/underway
rounds=${1:-5}
idle=${2:-60}
idle_host=c1 # a compute host: munged, slurmd and the job that is added below

skip() {
  echo "skipped: $1"
  exit 0
}
[ "$(id -u)" = 0 ] || skip "hosts are made by root"
for program in munged mariadbd slurmdbd slurmctld slurmd chronyd srun; do
  command -v $program >/dev/null || skip "$program is not installed (packaging/setup installs it)"
done

work=$(mktemp -d /tmp/cluster_bench.XXXXXX)
export UNDERWAY_STATE=$work/state
unset UNDERWAY_ADDRESS NOMAD_ADDR
log=$work/log
by_hand=

take_down() { "$underway" down -all -purge -no-trash -yes >>"$log" 2>&1; }
finish() {
  local status=$?
  trap - EXIT INT TERM
  [ -z "$by_hand" ] || { kill "$by_hand" 2>/dev/null && wait "$by_hand" || :; }
  [ $status = 0 ] || tail -n 20 "$log" >&2 || :
  take_down || { echo "cluster_bench: not everything was taken down, see $work" >&2 && exit 1; }
  rm -rf --one-file-system "$work"
  exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

set -E
trap 'echo "cluster_bench: line $LINENO failed: $BASH_COMMAND" >&2' ERR

ms_since() { echo $(((${EPOCHREALTIME/./} - ${1/./}) / 1000)); }
seconds() { awk -v ms="$1" 'BEGIN { printf "%.2f", ms / 1000 }'; }
median() { printf '%s\n' "$@" | sort -n | awk '{ v[NR] = $1 } END { print int((v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2) }'; }

# --- up, beside the script ------------------------------------------------------------------------------------------

# Another name, so that a cluster that was brought up from the example itself is left in peace.
cp -r "$source/examples/slurm" "$work/example"
sed -i 's/^cluster "demo"/cluster "cluster-bench"/' "$work/example/cluster.hcl"

# Sets up_ms and srun_ms.
bring_up() {
  local start=$EPOCHREALTIME middle
  "$underway" up "$work/example" >>"$log" 2>&1
  middle=$EPOCHREALTIME
  up_ms=$(ms_since "$start")
  "$underway" host exec login -- srun -N4 hostname >"$work/srun" 2>>"$log" </dev/null
  srun_ms=$(ms_since "$middle")
  [ "$(sort -u "$work/srun" | wc -l)" = 4 ] || { echo "cluster_bench: srun did not reach four hosts" >&2; exit 1; }
}

# Sets hand_ms.
start_by_hand() {
  "$source/bench/by_hand.sh" "$work/by_hand" "$work/example" >"$work/hand_ms" 2>>"$log" &
  by_hand=$!
  wait "$by_hand"
  by_hand=
  hand_ms=$(<"$work/hand_ms")
}

# The first of everything reads programs from the disk: not counted.
bring_up
take_down
start_by_hand

echo "from nothing to a finished \`srun -N4 hostname\`: 1 management, 1 login, 4 compute hosts; 14 daemons"
echo "  underway   underway up examples/slurm; underway host exec login -- srun -N4 hostname"
echo "  by hand    bench/by_hand.sh examples/slurm"
echo
printf '%-8s %12s %12s %12s %12s %14s\n' round "up s" "srun s" "underway s" "by hand s" "difference s"
ups=() sruns=() wholes=() hands=()
for ((round = 1; round <= rounds; round++)); do
  [ $round = 1 ] || take_down
  start_by_hand
  bring_up # the last one stays, for what follows
  whole=$((up_ms + srun_ms))
  printf '%-8s %12s %12s %12s %12s %14s\n' $round "$(seconds $up_ms)" "$(seconds $srun_ms)" "$(seconds $whole)" \
    "$(seconds $hand_ms)" "$(seconds $((whole - hand_ms)))"
  ups+=($up_ms) sruns+=($srun_ms) wholes+=($whole) hands+=($hand_ms)
done
whole=$(median "${wholes[@]}") hand=$(median "${hands[@]}")
printf '%-8s %12s %12s %12s %12s %14s   target: at most 2.00\n' median "$(seconds "$(median "${ups[@]}")")" \
  "$(seconds "$(median "${sruns[@]}")")" "$(seconds $whole)" "$(seconds $hand)" "$(seconds $((whole - hand)))"

# --- an idle node ---------------------------------------------------------------------------------------------------

# The third task of the host, beside munged and slurmd.
cat >"$work/third.hcl" <<HCL
job "third" {
  datacenters = ["dc1"]
  node_pool   = "all"
  constraint {
    attribute = "\${attr.unique.hostname}"
    value     = "$idle_host"
  }
  group "third" {
    task "third" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["infinity"]
      }
      resources {
        cpu    = 10
        memory = 10
      }
    }
  }
}
HCL
"$underway" job run "$work/third.hcl" >>"$log" 2>&1

# pid_namespace PID
pid_namespace() { readlink "/proc/$1/ns/pid"; }
# pids_of PROGRAM [NAMESPACE]: running processes of a program, those of one host only.
pids_of() {
  local exe pid
  for exe in /proc/[0-9]*/exe; do
    pid=${exe#/proc/} pid=${pid%/exe}
    [ "$(readlink "$exe")" = "$1" ] || continue
    [ -z "${2:-}" ] || [ "$(pid_namespace "$pid")" = "$2" ] || continue
    echo "$pid"
  done
}
# agent_with ARGUMENT: the agent of this benchmark that was started with it.
agent_with() {
  local pid arguments
  for pid in $(pids_of "$underway"); do
    mapfile -d '' -t arguments <"/proc/$pid/cmdline" || continue
    [[ " ${arguments[*]} " = *" $1 "* && "${arguments[*]}" = *"$UNDERWAY_STATE"* ]] || continue
    echo "$pid"
  done
}

# Voluntary context switches of all threads: each is a sleep that something ended.
wake_ups() { cat /proc/"$1"/task/*/status 2>/dev/null | awk '/^voluntary_ctxt/ { n += $2 } END { print n + 0 }'; }
# Nanoseconds on a core, of all threads: finer than utime + stime in /proc/PID/stat, whose hundredths of a second a
# quiet daemon does not fill in a minute.
cpu_ns() { cat /proc/"$1"/task/*/schedstat 2>/dev/null | awk '{ n += $1 } END { printf "%d", n }'; }
field() { awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/$3"; }

node_agent=$(agent_with "-name=$idle_host")
server_agent=$(agent_with -server)
namespace=$(pid_namespace "$node_agent")
labels=() pids=()
watch_process() { labels+=("$1") pids+=("$2"); }
watch_process "agent of $idle_host" "$node_agent"
watch_process "slurmd of $idle_host" "$(pids_of "$(realpath "$(command -v slurmd)")" "$namespace" | head -n 1)"
for pid in $(pids_of "$build/bin/underway-keeper" "$namespace"); do watch_process "keeper of $idle_host" "$pid"; done
watch_process "agent, server role" "$server_agent"

sleep 5 # what the start and the job set in motion has ended
busy=() wakes=()
for pid in "${pids[@]}"; do busy+=("$(cpu_ns "$pid")") wakes+=("$(wake_ups "$pid")"); done
start=$EPOCHREALTIME
sleep "$idle"
elapsed=$(ms_since "$start")

echo
echo "idle for $(seconds "$elapsed") s: $idle_host with $(pids_of "$build/bin/underway-keeper" "$namespace" | wc -l) tasks"
echo "  wake-ups: voluntary context switches of all threads; /proc/PID/{status,smaps_rollup,task/*/schedstat,task/*/status}"
echo
printf '%-20s %9s %9s %9s %12s %9s %12s\n' process "RSS KiB" "anon KiB" "PSS KiB" "CPU s/hour" "% core" "wake-ups/s"
for n in "${!pids[@]}"; do
  pid=${pids[n]}
  awk -v label="${labels[n]}" -v rss="$(field "$pid" VmRSS status)" -v anon="$(field "$pid" RssAnon status)" \
    -v pss="$(field "$pid" Pss smaps_rollup)" -v busy=$(($(cpu_ns "$pid") - busy[n])) \
    -v wakes=$(($(wake_ups "$pid") - wakes[n])) -v elapsed="$elapsed" 'BEGIN {
      core = busy / 1e9 / (elapsed / 1000)
      printf "%-20s %9d %9d %9d %12.2f %9.4f %12.2f\n", label, rss, anon, pss, core * 3600, core * 100, wakes / (elapsed / 1000)
    }'
done
echo "targets: agent of a node at most 16384 KiB, 3.6 CPU s/hour (0.1 % of a core), 5 wake-ups/s; keeper at most 1024 KiB, 0 wake-ups/s"
