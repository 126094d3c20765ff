#include "vm/live.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"
#include "vm/state/saved.hpp"

namespace underway::vm {
namespace {

/// Sequences of numbers, as versions are compared: 7.2.22 is newer than 7.2.3.
std::vector<std::uint64_t> numbers_of(const std::string& version) {
  std::vector<std::uint64_t> out;
  for (const auto& part : split(version, '.')) out.push_back(parse_number<std::uint64_t>(part).value_or(0));
  return out;
}

/// The value of the first line of /proc/cpuinfo that has this name.
std::string value_of(const std::string& text, std::string_view name) {
  for (const auto& line : split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string::npos && trim(std::string_view(line).substr(0, colon)) == name)
      return std::string(trim(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

std::string why_it_stays(Migrate how, bool is_clone, const Run& run) {
  if (how == Migrate::stop) return "its job says migrate = \"stop\"";
  if (run.incoming) return "it has just come, and does not run yet";
  if (read_journal(run.directory).verb != Verb::none) return "it is paused, or something else is done to it";
  if (!run.machine.shared_memory.empty() || !run.machine.host_devices.empty()) return "it has devices of its node";
  // Both are files beside its disks, of which its QEMU knows nothing.
  if (is_clone) return "it is a clone, and who it is is written beside its disks";
  if (!list_checkpoints(run.directory).empty()) return "it has checkpoints, which are inside its disks";
  if (how == Migrate::automatic && run.machine.accelerator != Accelerator::kvm)
    return "it is translated, without real KVM";
  return {};
}

}  // namespace

std::string entrance_name(driver::MachinePart part) {
  return part == driver::MachinePart::memory ? "entrance-memory" : "entrance-disk";
}

std::string departure_name(driver::MachinePart part) {
  return part == driver::MachinePart::memory ? "departure-memory" : "departure-disk";
}

std::string processor_of_node() {
  const auto text = os::find_file("/proc/cpuinfo").value_or("");
  return fmt::format("{} ({})", value_of(text, "model name"),
                     hex(crypto::sha256(value_of(text, "flags"))).substr(0, 12));
}

driver::LiveMachine describe_live(Migrate how, bool is_clone, const Run& run, const Probed& here) {
  driver::LiveMachine out;
  out.asked_for = how == Migrate::live;
  out.why_not = why_it_stays(how, is_clone, run);
  out.accelerator = std::string(describe::spell(run.machine.accelerator));
  out.version = here.version;
  const bool sees_it = run.machine.cpu.empty() || run.machine.cpu.starts_with("host");
  if (run.machine.accelerator == Accelerator::kvm && sees_it) out.processor = processor_of_node();
  return out;
}

std::string why_not_live(const driver::LiveMachine& machine, const Probed& here, const std::string& processor) {
  if (!machine.why_not.empty()) return machine.why_not;
  if (machine.accelerator == describe::spell(Accelerator::kvm) && here.accelerator != Accelerator::kvm)
    return "there is no KVM here, which it has: " + here.why_no_kvm;
  if (numbers_of(here.version) < numbers_of(machine.version))
    return fmt::format("the QEMU here is {}, and it has {}", here.version, machine.version);
  if (!machine.processor.empty() && machine.processor != processor)
    return fmt::format("the processor here is '{}', and it has '{}'", processor, machine.processor);
  return {};
}

}  // namespace underway::vm
