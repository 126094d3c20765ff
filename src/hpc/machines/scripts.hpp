#pragma once
/// @file
/// What is done on a node before, beside and after the machines of a Slurm job; for /bin/sh -c. In names and places
/// they agree with prolog and epilog in examples/machines: links uwj<job> (the bridge) and uwx<job> (to the other
/// nodes), the directory /run/underway/slurm-jobs/<job> while anything of them is there, and <job>.over beside it once
/// Slurm has ended the job on this node: nothing of it is begun then, whatever was ordered before.

namespace underway::machines {

/// The port of UDP at which nodes take the frames of other nodes. Not VXLAN's own, 4789: another user of that may be on
/// the same nodes.
inline constexpr int kTunnelPort = 4799;

/// job, the node's address in the job's network; and when there are other nodes: number of the network, own address,
/// addresses of the others. Frames come from ports below 1024, which only root binds, and from no machine: otherwise
/// whoever may send UDP, a guest too, could put frames into the networks of other jobs.
inline constexpr const char* kMakeNetwork = R"(set -eu
job=$1 address=$2; shift 2
jobs=/run/underway/slurm-jobs bridge=uwj$job tunnel=uwx$job
directory=$jobs/$job
mkdir -p "$directory"
chmod 755 "$jobs" "$directory"
if [ -e "$directory.over" ]; then
  rmdir "$directory"
  echo "Slurm job $job is over on this node" >&2
  exit 1
fi
ip link delete "$bridge" 2>/dev/null || true
ip link delete "$tunnel" 2>/dev/null || true
ip link add "$bridge" type bridge
echo 0 >"/proc/sys/net/ipv4/conf/$bridge/forwarding"
echo 1 >"/proc/sys/net/ipv4/conf/$bridge/rp_filter"
[ ! -e "/proc/sys/net/ipv6/conf/$bridge" ] || echo 1 >"/proc/sys/net/ipv6/conf/$bridge/disable_ipv6"
nft -f - <<RULES
add table inet $bridge
delete table inet $bridge
table inet $bridge {
  chain input {
    type filter hook input priority -300;
    iifname "$bridge" udp dport 4799 drop
    udp dport 4799 udp sport 1024-65535 drop
  }
}
RULES
ip address add "$address" dev "$bridge"
if [ $# -gt 0 ]; then
  number=$1 own=$2; shift 2
  ip link add "$tunnel" type vxlan id "$number" dstport 4799 srcport 512 1023 local "$own"
  ip link set "$tunnel" mtu 1500 master "$bridge"
  for other; do bridge fdb append 00:00:00:00:00:00 dev "$tunnel" dst "$other"; done
  ip link set "$tunnel" up
fi
ip link set "$bridge" up
)";

/// job, lines for /etc/hosts of all machines, then address and MAC of each that is here. Tells of them when all answer:
/// to ARP, which no firewall of a guest keeps back.
inline constexpr const char* kTellReady = R"(set -eu
job=$1 hosts=$2; shift 2
directory=/run/underway/slurm-jobs/$job bridge=uwj$job
while [ $# -gt 0 ]; do
  until ip neigh show to "$1" dev "$bridge" | grep -q REACHABLE; do
    ip neigh replace "$1" lladdr "$2" dev "$bridge" nud probe
    sleep 0.2
  done
  shift 2
done
printf '%s' "$hosts" >"$directory/hosts.new"
chmod 644 "$directory/hosts.new"
mv "$directory/hosts.new" "$directory/hosts"
)";

/// job. The disks of the machines go at once, and not with the allocation's directory, which stays to be looked at.
inline constexpr const char* kClear = R"(job=$1
rm -rf "$NOMAD_ALLOC_DIR"/../m[0-9]*/machine
ip link delete "uwx$job" 2>/dev/null
ip link delete "uwj$job" 2>/dev/null
nft delete table inet "uwj$job" 2>/dev/null
rm -rf "/run/underway/slurm-jobs/$job"
)";

/// The path of a file below /run/underway/slurm-jobs, and what it is to say.
inline constexpr const char* kTellRefused = R"(mkdir -p "${1%/*}" && printf '%s\n' "$2" >"$1")";

}  // namespace underway::machines
