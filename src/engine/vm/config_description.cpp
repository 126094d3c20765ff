#include "vm/config.hpp"

namespace underway::vm {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const describe::Enumeration& description(Tag<Resume>) {
  static const auto e = describe::enumeration<Resume>("resume", {{Resume::automatic, "auto"}});
  return e;
}

const describe::Enumeration& description(Tag<Migrate>) {
  static const auto e = describe::enumeration<Migrate>("migrate", {{Migrate::automatic, "auto"}});
  return e;
}

const Structure& description(Tag<DiskConfig>) {
  static const Structure s =
      Builder<DiskConfig>("disk", "A disk of the machine.")
          .label<&DiskConfig::name>("name", "Name", "Its name.")
          .attribute<&DiskConfig::image>("image", "Image",
                                         "What is on it at first: a file of the host that stays as it is. All that the "
                                         "guest writes goes into a layer of the machine's own.")
          .attribute<&DiskConfig::size>("size", "Size", "Of an empty one, or of the layer: `10G`.")
          .attribute<&DiskConfig::bus>("bus", "Bus", "`virtio`, `ide` or `scsi`.")
          .attribute<&DiskConfig::read_only>("read_only", "ReadOnly", "The image itself, which nobody writes to.")
          .done();
  return s;
}

const Structure& description(Tag<NetworkConfig>) {
  static const Structure s =
      Builder<NetworkConfig>("network", "A network that the machine is on, by a bridge.")
          .label<&NetworkConfig::name>("name", "Name", "Its name.")
          .attribute<&NetworkConfig::bridge>("bridge", "Bridge", "The bridge; `br-<name>` when not given.")
          .attribute<&NetworkConfig::mac>("mac", "MAC",
                                          "Hardware address; it follows from the machine's name when not given, so it "
                                          "is the same on every host.")
          .done();
  return s;
}

const Structure& description(Tag<CloudInitConfig>) {
  static const Structure s =
      Builder<CloudInitConfig>("cloud_init", "A disk for cloud-init (NoCloud), made at each start.")
          .attribute<&CloudInitConfig::user_data>("user_data", "UserData", "The user data.")
          .attribute<&CloudInitConfig::meta_data>("meta_data", "MetaData",
                                                  "The meta data; the machine's name as instance and hostname when "
                                                  "not given.")
          .attribute<&CloudInitConfig::network_config>("network_config", "NetworkConfig", "The network's.")
          .attribute<&CloudInitConfig::hostname>("hostname", "Hostname", "In meta data that are not given.")
          .attribute<&CloudInitConfig::directory>("directory", "Directory",
                                                  "A directory of the task with files `user-data`, `meta-data` and "
                                                  "`network-config`, for those that are not given: what a template "
                                                  "writes to `secrets/` is seen by nobody else.")
          .done();
  return s;
}

const Structure& description(Tag<SharedMemoryConfig>) {
  static const Structure s =
      Builder<SharedMemoryConfig>("shared_memory", "Memory that machines of one node share, as a PCI device (ivshmem).")
          .label<&SharedMemoryConfig::name>("name", "Name",
                                            "Its name: machines of one namespace that name it share it.")
          .attribute<&SharedMemoryConfig::memory>("memory", "Memory", "Its size in MiB, a power of two.")
          .done();
  return s;
}

const Structure& description(Tag<CloneConfig>) {
  static const Structure s =
      Builder<CloneConfig>("clone",
                           "The machine begins as another one of this node was at a checkpoint, and is somebody "
                           "else: it is on no network before its guest knows.")
          .attribute<&CloneConfig::machine>("machine", "Machine", "The other machine's name.")
          .attribute<&CloneConfig::checkpoint>("checkpoint", "Checkpoint", "Its checkpoint; the newest when not given.")
          .attribute<&CloneConfig::hostname>("hostname", "Hostname", "The clone's; its name when not given.")
          .block_or_attribute<&CloneConfig::addresses>(
              "addresses", "Addresses",
              "Name of a network to the clone's address in it, with the length "
              "of the network's: `10.0.0.7/24`. A network that is not named "
              "gives it one by DHCP.")
          .done();
  return s;
}

const Structure& description(Tag<Config>) {
  static const Structure s =
      Builder<Config>("config", "A virtual machine.")
          .attribute<&Config::image_path>("image_path", "ImagePath",
                                          "Nomad's: a disk that the guest writes to, absolute or in the task's "
                                          "directory.")
          .attribute<&Config::drive_interface>("drive_interface", "DriveInterface",
                                               "Nomad's: how the guest sees it, `ide`, `scsi` or `virtio`.")
          .attribute<&Config::accelerator>("accelerator", "Accelerator",
                                           "`tcg` or `kvm`; what was seen to work on the node when not given.")
          .attribute<&Config::graceful_shutdown>("graceful_shutdown", "GracefulShutdown",
                                                 "Whether a stop asks the guest to shut down first.")
          .attribute<&Config::guest_agent>("guest_agent", "GuestAgent", "Whether there is a port for qemu-guest-agent.")
          .block_or_attribute<&Config::port_map>("port_map", "PortMap",
                                                 "Nomad's: label of a port of the group to the guest's port.")
          .attribute<&Config::args>("args", "Args", "Further arguments for QEMU.")
          .attribute<&Config::name>("name", "Name",
                                    "The machine outlives the allocation under this name: the next one on this node "
                                    "goes on with its disks, and with its memory when it sleeps.")
          .attribute<&Config::image>("image", "Image", "As `disk`, of its first disk.")
          .attribute<&Config::kernel>("kernel", "Kernel", "Kernel that is booted without a boot loader.")
          .attribute<&Config::initrd>("initrd", "Initrd", "Its initial file system.")
          .attribute<&Config::append>("append", "Append", "Its command line.")
          .attribute<&Config::firmware>("firmware", "Firmware", "Firmware in place of QEMU's BIOS, as OVMF.fd.")
          .attribute<&Config::machine>("machine", "Machine", "QEMU's machine type, with its version.")
          .attribute<&Config::cpu>("cpu", "CPU",
                                   "Model of its processors; all that the accelerator can when not given.")
          .attribute<&Config::vcpus>("vcpus", "VCPUs", "Its processors; the task's cores, or one, when not given.")
          .attribute<&Config::memory>("memory", "Memory", "Its memory in MiB; the task's when not given.")
          .attribute<&Config::huge_pages>("huge_pages", "HugePages", "Whether its memory is of huge pages of the host.")
          .attribute<&Config::pin>("pin", "Pin", "Whether each of its processors stays on one of the task's cores.")
          .block<&Config::disks>("disk", "Disks", "Its disks.")
          .block<&Config::networks>("network", "Networks", "Its networks.")
          .block<&Config::cloud_init>("cloud_init", "CloudInit", "What cloud-init is told.")
          .block<&Config::clone>("clone", "Clone", "What it begins as.")
          .block<&Config::shared_memory>("shared_memory", "SharedMemory", "Memory that it shares with others.")
          .attribute<&Config::host_devices>("host_devices", "HostDevices",
                                            "PCI devices of the node that are the guest's alone (vfio): "
                                            "`0000:3b:00.0`.")
          .attribute<&Config::resume>("resume", "Resume",
                                      "`auto`: a machine that sleeps goes on; `or_boot`: it boots when it cannot; "
                                      "`cold`: it boots, and what it saved is removed.")
          .attribute<&Config::migrate>("migrate", "Migrate",
                                       "How it goes to another node. `auto`: while it runs, with real KVM on both and "
                                       "the same processors, else asleep; `live`: while it runs, also where it is "
                                       "translated; `stop`: asleep.")
          .attribute<&Config::instance>("instance", "Instance",
                                        "A machine of this name that is another instance does not go on where this one "
                                        "fell asleep.")
          .attribute<&Config::checkpoints>("checkpoints", "Checkpoints", "How many checkpoints are kept.")
          .done();
  return s;
}

}  // namespace underway::vm
