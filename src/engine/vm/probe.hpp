#pragma once
/// @file
/// What runs machines here: which QEMU, and whether KVM does more than open. A /dev/kvm that opens, and makes a machine
/// with a processor, is no proof: where a kernel emulates it (PVM), small programs run and Linux never comes up. So a
/// guest is booted, once per boot of the host.

#include <string>

#include "base/clock.hpp"
#include "vm/machine/machine_spec.hpp"

namespace underway::vm {

struct ProbeOptions {
  /// Empty: qemu-system-x86_64 along the usual path.
  std::string program;
  /// A Linux kernel to boot; empty: a few instructions, on the processor that the host has (`-cpu host`), which is what
  /// emulations of KVM have failed at.
  std::string kernel;
  std::string device = "/dev/kvm";
  /// Where the answer is kept; empty: nowhere.
  std::string cache;
  /// How long the guest has for it. A kernel says its first word within 0.1 s on real hardware.
  Duration within = std::chrono::seconds{5};
};

struct Probed {
  std::string program;  ///< absolute; empty: there is none
  std::string version;  ///< "7.2.22"
  Accelerator accelerator = Accelerator::tcg;
  std::string why_no_kvm;  ///< for people; empty with kvm
};

/// Blocks: yes, for `within` at most, and some 30 ms for QEMU's version. Never throws for what is missing.
Probed probe(const ProbeOptions& options);

}  // namespace underway::vm
