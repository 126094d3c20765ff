#pragma once
/// @file
/// Who a machine is, as far as its guest knows. A clone wakes with the memory and the disks of another machine, and so
/// as that one: with its name, its keys, its addresses, its place in the stream of random numbers. Before it is on any
/// network a program of ours in the guest, brought there by the guest agent, makes it somebody else
/// (guest/identify.cpp).
///
/// What programs have drawn and keep for themselves (a session's key, a library's generator) cannot be reached: clone
/// machines that have not yet been anybody.

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/json/describe.hpp"
#include "vm/machine/machine_spec.hpp"
#include "vm/qmp/guest_agent.hpp"

namespace underway::vm {

struct NicIdentity {
  std::string old_mac, mac;
  std::string address;  ///< "10.0.0.7/24"; empty: as it comes, once the link is up, by DHCP
};

struct Identity {
  std::string hostname;
  std::string machine_id;  ///< machine-id(5)
  std::string seed;        ///< hexadecimal, for the kernel's random numbers
  std::vector<NicIdentity> nics;
};
const describe::Structure& description(describe::Tag<NicIdentity>);
const describe::Structure& description(describe::Tag<Identity>);

/// Of the clone `now` of a machine that was `then`; `addresses` in the order of its interfaces, as many as are known.
/// `random`: 48 bytes that nobody else has.
Identity identity_of(const MachineSpec& now, const MachineSpec& then, const std::string& hostname,
                     const std::vector<std::string>& addresses, std::string_view random);

/// What the program in the guest reads, a line for each part; the random numbers first, so that keys are drawn from
/// new ones. Pure.
std::string instructions(const Identity& identity, TimePoint now);
/// Of its answer, what it could not do, in words; empty when all was done or has no place in this guest. Pure.
std::vector<std::string> refusals(const Identity& identity, std::string_view answer);

/// A machine's that has not been given to its guest yet (identity.json): nothing when there is none.
std::optional<Identity> find_identity(const std::string& directory);
void write_identity(const std::string& directory, const Identity& identity);
void clear_identity(const std::string& directory);

/// `program`: the bytes of guest/identify.cpp, built. Idempotent. Errors: conflict (the agent refuses, or a part cannot
/// be done in this guest: all of them), timeout.
void apply_identity(GuestAgent& agent, const Identity& identity, std::string_view program, const std::string& who,
                    TimePoint now, Duration within);

}  // namespace underway::vm
