#pragma once
/// @file
/// A virtual machine as it is: every value known, every file named. The same description starts it, is kept beside what
/// it saves when it sleeps, and tells whether another QEMU can go on with that.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::vm {

enum class Accelerator : std::uint8_t {
  tcg,  ///< translated: anywhere, some six to seventeen times slower
  kvm
};

enum class Bus : std::uint8_t { virtio, ide, scsi };

struct DiskSpec {
  std::string name;              ///< its node in QEMU: "disk0", "seed"
  std::string file;              ///< absolute
  std::string format = "qcow2";  ///< or "raw"
  bool read_only = false;
  Bus bus = Bus::virtio;
};

struct NicSpec {
  std::string name;    ///< "net0"
  std::string bridge;  ///< the link `tap` joins it
  std::string tap;     ///< made by QEMU, and gone with it
  std::string mac;
};

/// A port of the guest that is reached by one of the host (user networking).
struct ForwardSpec {
  std::int64_t host = 0;
  std::int64_t guest = 0;
};

/// Memory that several machines of one host see as a device (ivshmem): what processes of one host have in /dev/shm.
struct SharedMemorySpec {
  std::string name;            ///< "shm0"
  std::string file;            ///< absolute, in a file system of the host's memory
  std::int64_t memory_mb = 0;  ///< a power of two
  std::int64_t port = 0;       ///< of MachineSpec::ports, from 0
};

/// A PCI device of the host that is the guest's (vfio).
struct HostDeviceSpec {
  std::string name;     ///< "host0"
  std::string address;  ///< "0000:3b:00.0"
  std::int64_t port = 0;
};

struct MachineSpec {
  std::string name;
  /// SMBIOS'; empty: none. What follows from it in a guest is read at its boot.
  std::string uuid;
  std::string instance;  ///< of those that have had its name and directory; the guest does not see it
  /// Another one after each boot, each return to a checkpoint and in each clone: the guest's kernel is told that what
  /// it took for random may have been drawn before (vmgenid). Empty: the machine has no such device.
  std::string generation;
  std::string machine = "pc-q35-7.2";  ///< a versioned type: what is saved under one goes on under the same alone
  Accelerator accelerator = Accelerator::tcg;
  std::string cpu;  ///< empty: "max" for tcg, "host" for kvm
  std::int64_t vcpus = 1;
  std::int64_t memory_mb = 512;
  bool huge_pages = false;
  std::string firmware;  ///< file; empty: QEMU's BIOS
  std::string kernel, initrd, append;
  std::vector<DiskSpec> disks;
  std::vector<NicSpec> nics;
  std::vector<ForwardSpec> forwards;
  bool guest_agent = false;
  /// PCI Express ports into which the two below are plugged, and which stay when those are unplugged.
  std::int64_t ports = 0;
  std::vector<SharedMemorySpec> shared_memory;
  std::vector<HostDeviceSpec> host_devices;
  std::vector<std::string> args;  ///< as they are, behind all others
};

const describe::Enumeration& description(describe::Tag<Accelerator>);
const describe::Enumeration& description(describe::Tag<Bus>);
const describe::Structure& description(describe::Tag<DiskSpec>);
const describe::Structure& description(describe::Tag<NicSpec>);
const describe::Structure& description(describe::Tag<ForwardSpec>);
const describe::Structure& description(describe::Tag<SharedMemorySpec>);
const describe::Structure& description(describe::Tag<HostDeviceSpec>);
const describe::Structure& description(describe::Tag<MachineSpec>);

/// What follows from its name: the same on every host, so that a machine that moves keeps it. RFC 9562, version 8.
std::string uuid_for(std::string_view name);

/// What the guest sees of it, without what is the host's business (paths, taps, bridges, ports of the host). Two
/// machines of which this is equal can go on with each other's memory.
MachineSpec hardware_of(MachineSpec spec);
/// In words, where two differ: "MemoryMB is 512 and was 256". Empty when nothing does.
std::vector<std::string> differences(const MachineSpec& now, const MachineSpec& then);

}  // namespace underway::vm
