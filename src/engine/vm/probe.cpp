#include "vm/probe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::vm {
namespace {

struct Answer {
  std::string boot;  ///< of the host
  std::string version, kernel;
  bool kvm = false;
  std::string why;
};

const describe::Structure& description(describe::Tag<Answer>) {
  static const describe::Structure s = describe::Builder<Answer>("probe", "Whether KVM runs a guest here.")
                                           .wire<&Answer::boot>("Boot", "Boot id of the host.")
                                           .wire<&Answer::version>("Version", "Of QEMU.")
                                           .wire<&Answer::kernel>("Kernel", "What was booted.")
                                           .wire<&Answer::kvm>("KVM", "Whether it came up.")
                                           .wire<&Answer::why>("Why", "Why not.")
                                           .done();
  return s;
}

/// Real mode, at 0x7c00: mov al, 0x2a; out 0xf4, al; hlt; jmp to the hlt. QEMU then exits with 2 · 0x2a + 1.
constexpr unsigned char kBootSector[] = {0xb0, 0x2a, 0xe6, 0xf4, 0xf4, 0xeb, 0xfd};
constexpr int kExit = 2 * 0x2a + 1;

std::string find_program(const std::string& named) {
  const auto all =
      named.empty() ? os::command_candidates("qemu-system-x86_64", os::kDefaultPath) : std::vector<std::string>{named};
  for (const auto& path : all) {
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

std::string version_of(const std::string& program) {
  os::SpawnSpec spec;
  spec.argv = {program, "--version"};
  const auto said = os::run_program(std::move(spec), std::chrono::seconds{10}).out;
  constexpr std::string_view kWord = "version ";
  const auto at = said.find(kWord);
  if (at == std::string::npos) return {};
  const auto text = said.substr(at + kWord.size());
  return text.substr(0, text.find_first_not_of("0123456789."));
}

/// A QEMU that ends when its guest does.
std::vector<std::string> kvm_argv(const std::string& program, const std::string& memory,
                                  const std::vector<std::string>& more) {
  std::vector<std::string> out = {
      program, "-nodefaults", "-no-user-config", "-display", "none", "-machine", "q35", "-accel", "kvm", "-cpu", "host",
      "-m",    memory,        "-no-reboot"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

/// What it says on its serial line; empty: nothing that is Linux.
std::string boot_kernel(const ProbeOptions& options, const std::string& program) {
  os::SpawnSpec spec;
  // It has no root to mount, panics and reboots, which ends this QEMU.
  spec.argv = kvm_argv(program, "256",
                       {"-serial", "stdio", "-kernel", options.kernel, "-append", "console=ttyS0 panic=-1 root=none"});
  const auto done = os::run_program(std::move(spec), options.within);
  if (done.out.find("Linux version") != std::string::npos) return {};
  return fmt::format("a guest of '{}' ended with {} and said nothing: {}", options.kernel, to_string(done.status),
                     trim(done.err.substr(0, 300)));
}

std::string boot_sector(const ProbeOptions& options, const std::string& program) {
  std::string disk(reinterpret_cast<const char*>(kBootSector), sizeof kBootSector);
  disk.resize(510);
  disk += "\x55\xaa";
  const auto file = os::sealed_memory("boot sector", disk);
  os::SpawnSpec spec;
  spec.fds = {{file.get(), 9}};
  spec.argv = kvm_argv(program, "64",
                       {"-device", "isa-debug-exit,iobase=0xf4,iosize=1", "-drive",
                        "file=/proc/self/fd/9,format=raw,if=ide,readonly=on,file.locking=off,snapshot=on"});
  const auto done = os::run_program(std::move(spec), options.within);
  if (done.status == os::ExitStatus{kExit, 0}) return {};
  return fmt::format("a guest of a few instructions ended with {}: {}", to_string(done.status),
                     trim(done.err.substr(0, 300)));
}

/// Empty: it does.
std::string why_kvm_fails(const ProbeOptions& options, const std::string& program) {
  const os::Fd device(::open(options.device.c_str(), O_RDWR | O_CLOEXEC));
  if (!device) return fmt::format("cannot open '{}': {} ({})", options.device, std::strerror(errno), errno_name(errno));
  try {
    return options.kernel.empty() ? boot_sector(options, program) : boot_kernel(options, program);
  } catch (const Error& e) {
    return e.code() == Code::timeout ? fmt::format("a guest did not come up within {}", human_duration(options.within))
                                     : e.one_line();
  }
}

std::optional<Answer> remembered(const std::string& path) {
  try {
    const auto text = path.empty() ? std::nullopt : os::find_file(path, 1U << 16);
    if (text) return underway::json::decode_text<Answer>(*text);
  } catch (const Error&) {
    // Then it is asked again.
  }
  return std::nullopt;
}

}  // namespace

Probed probe(const ProbeOptions& options) {
  Probed found;
  found.program = find_program(options.program);
  if (found.program.empty()) {
    found.why_no_kvm = "there is no QEMU";
    return found;
  }
  Answer answer;
  try {
    found.version = version_of(found.program);
    answer.boot = std::string(trim(os::find_file("/proc/sys/kernel/random/boot_id").value_or("")));
  } catch (const Error& e) {
    found.program.clear();
    found.why_no_kvm = e.one_line();
    return found;
  }
  answer.version = found.version;
  answer.kernel = options.kernel;
  auto known = remembered(options.cache);
  if (!known || known->boot != answer.boot || known->version != answer.version || known->kernel != answer.kernel) {
    answer.why = why_kvm_fails(options, found.program);
    answer.kvm = answer.why.empty();
    known = answer;
    try {
      if (!options.cache.empty())
        os::write_file(options.cache, underway::json::encode(answer), 0644, {}, os::Durability::cached);
    } catch (const Error&) {
      // It is asked again at the next start.
    }
  }
  found.accelerator = known->kvm ? Accelerator::kvm : Accelerator::tcg;
  found.why_no_kvm = known->why;
  return found;
}

}  // namespace underway::vm
