#include "run/config/config.hpp"

namespace underway::run {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<OverlayConfig>) {
  static const Structure s =
      Builder<OverlayConfig>("overlay", "The writable layer over the image.")
          .attribute<&OverlayConfig::kind>("kind", "Kind", "`directory`, `ext4`, `xfs`, `btrfs` or `raid1`.")
          .attribute<&OverlayConfig::size>("size", "Size",
                                           "Of its file system: `1G`. A directory has no limit of its own.")
          .attribute<&OverlayConfig::paths>("paths", "Paths",
                                            "Directories that hold its file; `raid1` wants two, on two file systems.")
          .done();
  return s;
}

const Structure& description(Tag<NetworkConfig>) {
  static const Structure s =
      Builder<NetworkConfig>("network", "A network that the capsule joins, by a bridge of the host.")
          .label<&NetworkConfig::name>("name", "Name", "Its name.")
          .attribute<&NetworkConfig::bridge>("bridge", "Bridge", "The host's bridge; `br-<name>` when not given.")
          .attribute<&NetworkConfig::addresses>("addresses", "Addresses",
                                                "Addresses with their prefix: `10.77.0.5/24`. Each is asked for before "
                                                "it is used and announced after.")
          .attribute<&NetworkConfig::gateway>("gateway", "Gateway", "Way to everywhere else.")
          .block_or_attribute<&NetworkConfig::routes>("routes", "Routes", "Network to gateway, beside the default one.")
          .attribute<&NetworkConfig::vlan>("vlan", "Vlan", "802.1Q tag; 0: untagged. Needs a kernel with VLAN links.")
          .attribute<&NetworkConfig::interface>("interface", "Interface",
                                                "Its name in the capsule; `eth0`, `eth1`, … when not given.")
          .attribute<&NetworkConfig::mac>("mac", "MAC",
                                          "Hardware address; it follows from the first address when not given, so it "
                                          "is the same on every host.")
          .attribute<&NetworkConfig::mtu>("mtu", "MTU", "0: the bridge's.")
          .done();
  return s;
}

const Structure& description(Tag<DnsConfig>) {
  static const Structure s =
      Builder<DnsConfig>("dns", "How names are found.")
          .attribute<&DnsConfig::servers>("servers", "Servers", "Name servers for /etc/resolv.conf.")
          .attribute<&DnsConfig::search>("search", "Search", "Domains that names are looked for in.")
          .block_or_attribute<&DnsConfig::hosts>("hosts", "Hosts", "Names for /etc/hosts, with their addresses.")
          .attribute<&DnsConfig::host_file>("host_file", "HostFile",
                                            "Whether /etc/hosts also gets what the host's holds at the start.")
          .done();
  return s;
}

const Structure& description(Tag<BindConfig>) {
  static const Structure s =
      Builder<BindConfig>("bind", "A directory or file of the host that the capsule sees: a shared file system.")
          .label<&BindConfig::path>("path", "Path", "Where it is seen.")
          .attribute<&BindConfig::source>("source", "Source", "Where it is on the host; the same path when not given.")
          .attribute<&BindConfig::read_only>("read_only", "ReadOnly", "Whether it can only be read.")
          .done();
  return s;
}

const Structure& description(Tag<ProtectConfig>) {
  static const Structure s =
      Builder<ProtectConfig>("protect", "What becomes of the capsule when its host dies.")
          .attribute<&ProtectConfig::standby>("standby", "Standby",
                                              "Whether another node of the pool has a copy of the overlay and takes "
                                              "over. Without, it waits for its host.")
          .attribute<&ProtectConfig::every>(
              "every", "Every",
              "What is written in place, as by a database, is copied so often. What is closed, "
              "renamed or removed is copied at once. A large overlay takes longer: its "
              "writers stand still for a twentieth of the time at most, and copies take "
              "a tenth of a core.")
          .attribute<&ProtectConfig::loss>("loss", "Loss", "That a copy is older than this is told by `status`.")
          .attribute<&ProtectConfig::rpo>("rpo", "RPO",
                                          "From a copy that is older than this before the loss nothing is started.")
          .attribute<&ProtectConfig::sync>(
              "sync", "Sync",
              "Whether a service that has saved something (fsync and its like, rename, link) is held until that is on "
              "the standby: for 5 s at most, then it goes on without until there are copies again. Needs Linux 5.5.")
          .attribute<&ProtectConfig::keeps_nothing>(
              "keeps_nothing", "KeepsNothing",
              "It keeps nothing that could be missed: there are no copies, and it starts elsewhere with nothing.")
          .done();
  return s;
}

const Structure& description(Tag<Config>) {
  static const Structure s =
      Builder<Config>("config", "Of a task with driver `capsule`.")
          .attribute<&Config::image>("image", "Image",
                                     "The image: a path, a file that the task has (`local/…`), `sha256:…`, or "
                                     "`name:version` in the node's image store.")
          .required()
          .attribute<&Config::name>("name", "Name", "What its data are called on a node; the job's ID if not given.")
          .attribute<&Config::hostname>("hostname", "Hostname", "Its host name; its name when not given.")
          .block<&Config::overlay>("overlay", "Overlay", "The writable layer.")
          .block<&Config::networks>("network", "Networks", "Networks that it joins.")
          .block<&Config::dns>("dns", "DNS", "How names are found.")
          .block<&Config::binds>("bind", "Binds", "Directories of the host that it sees.")
          .block<&Config::services>("service", "Services", "Services beside, or changing, those of the image.")
          .block<&Config::steps>("step", "Steps", "Steps in the place of the image's of the same moment.")
          .block<&Config::protect>("protect", "Protect", "What becomes of it when its host dies.")
          .block<&Config::snapshot>("snapshot", "Snapshot", "When snapshots of the overlay are taken.")
          .block<&Config::backup>("backup", "Backup", "When and where the overlay is backed up, and tried.")
          .attribute<&Config::capabilities>("capabilities", "Capabilities",
                                            "Capabilities that its processes may have, in the place of the usual.")
          .attribute<&Config::cap_add>("cap_add", "CapAdd", "Capabilities beside the usual.")
          .block_or_attribute<&Config::sysctl>("sysctl", "Sysctl", "Settings of its network: `net.ipv4.ip_forward`.")
          .attribute<&Config::attempts>("attempts", "Attempts",
                                        "Failures of a service in a row after which the capsule fails; 0: no limit.")
          .done();
  return s;
}

}  // namespace underway::run
