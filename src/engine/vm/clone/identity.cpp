#include "vm/clone/identity.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::vm {
namespace {

std::string identity_path(const std::string& directory) { return directory + "/identity.json"; }

/// Where a program may lie that is to be run: /run is mounted noexec on many systems, /tmp on some.
constexpr std::string_view kPlaces[] = {"/var/tmp", "/tmp", "/dev/shm", "/root"};

}  // namespace

const describe::Structure& description(describe::Tag<NicIdentity>) {
  static const describe::Structure s =
      describe::Builder<NicIdentity>("nic", "A network interface of a clone.")
          .wire<&NicIdentity::old_mac>("OldMAC", "Hardware address of the machine that it is a clone of.")
          .wire<&NicIdentity::mac>("MAC", "Its own.")
          .wire<&NicIdentity::address>("Address", "Its address, with the length of the network's.")
          .done();
  return s;
}

const describe::Structure& description(describe::Tag<Identity>) {
  static const describe::Structure s = describe::Builder<Identity>("identity", "Who a clone is.")
                                           .wire<&Identity::hostname>("Hostname", "Its name.")
                                           .wire<&Identity::machine_id>("MachineID", "As /etc/machine-id has it.")
                                           .wire<&Identity::seed>("Seed", "For its kernel's random numbers.")
                                           .wire<&Identity::nics>("NICs", "Its network interfaces.")
                                           .done();
  return s;
}

Identity identity_of(const MachineSpec& now, const MachineSpec& then, const std::string& hostname,
                     const std::vector<std::string>& addresses, std::string_view random) {
  if (random.size() != 48) throw Error(Code::internal, "an identity needs 48 random bytes");
  Identity identity;
  identity.hostname = hostname.empty() ? now.name : hostname;
  identity.machine_id = hex(random.substr(0, 16));
  identity.seed = hex(random.substr(16));
  for (std::size_t i = 0; i < std::min(now.nics.size(), then.nics.size()); ++i)
    identity.nics.push_back({then.nics[i].mac, now.nics[i].mac, i < addresses.size() ? addresses[i] : std::string()});
  return identity;
}

std::string instructions(const Identity& identity, TimePoint now) {
  std::string out = fmt::format("seed {}\ntime {}\nhostname {}\nmachine-id {}\n", identity.seed, unix_nanos(now),
                                identity.hostname, identity.machine_id);
  for (const auto& nic : identity.nics)
    out += fmt::format("nic {} {} {}\n", nic.old_mac, nic.mac, nic.address.empty() ? "-" : nic.address);
  return out + "ssh-keys\n";
}

std::vector<std::string> refusals(const Identity& identity, std::string_view answer) {
  std::size_t expected = 5 + identity.nics.size(), seen = 0;
  std::vector<std::string> found;
  for (const auto& line : split(answer, '\n')) {
    if (line.starts_with("ok ") || line.starts_with("none ")) ++seen;
    if (!line.starts_with("failed ")) continue;
    ++seen;
    found.push_back(line.substr(7));
  }
  if (seen != expected) found.push_back(fmt::format("it answered {} of {} questions", seen, expected));
  return found;
}

std::optional<Identity> find_identity(const std::string& directory) {
  const auto text = os::find_file(identity_path(directory));
  if (!text) return std::nullopt;
  return underway::json::decode_text<Identity>(*text);
}

void write_identity(const std::string& directory, const Identity& identity) {
  // The seed is a secret.
  os::write_file(identity_path(directory), underway::json::encode(identity) + "\n", 0600);
}

void clear_identity(const std::string& directory) {
  if (::unlink(identity_path(directory).c_str()) != 0 && errno != ENOENT)
    throw errno_error(errno, fmt::format("cannot remove '{}'", identity_path(directory)));
}

void apply_identity(GuestAgent& agent, const Identity& identity, std::string_view program, const std::string& who,
                    TimePoint now, Duration within) {
  const Deadline deadline(within);
  std::string why;
  for (const auto place : kPlaces) {
    const auto path = fmt::format("{}/underway-identify", place);
    GuestAgent::Ran ran;
    try {
      agent.write_file(path, program, deadline.left());
      ran = agent.run({"/bin/sh", "-c", fmt::format("chmod 700 {0} && {0}; code=$?; rm -f {0}; exit $code", path)},
                      instructions(identity, now), deadline.left());
    } catch (const Error& e) {
      if (e.code() != Code::conflict && e.code() != Code::exhausted) throw;
      why = e.one_line();
      continue;
    }
    if (ran.exit_code == 0) {
      const auto refused = refusals(identity, ran.out);
      if (refused.empty()) return;
      throw Error(Code::conflict, fmt::format("{} cannot be made another machine than the one it is a clone of", who))
          .because(refused)
          .advise("boot it from its image, or mend the image that the clones are made of");
    }
    why = fmt::format("'{}' ended with {}: {}", path, ran.exit_code, trim(ran.err.substr(0, 300)));
  }
  throw Error(Code::conflict, fmt::format("{} cannot be made another machine than the one it is a clone of", who))
      .because(why)
      .advise(
          "let qemu-guest-agent run guest-exec and guest-file-write in the guest: EL forbids them by default, in "
          "/etc/sysconfig/qemu-ga");
}

}  // namespace underway::vm
