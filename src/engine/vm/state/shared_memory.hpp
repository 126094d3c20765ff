#pragma once
/// @file
/// Memory that machines of one host share, each seeing it as a device (ivshmem). It is there for as long as one of them
/// is: a user is a machine whose lease is held (lease.hpp) or that somebody is starting, so what a dead agent, or a
/// machine that was killed, leaves behind counts for nothing and goes with the next look.
///
///   <root>/<name>/memory       the bytes, in a file system of the host's memory
///   <root>/<name>/users/…      a file for each machine, with its directory

#include <cstdint>
#include <string>
#include <vector>

namespace underway::vm {

/// The machine in `directory` becomes one of its users; returns the file. Made, empty, by the first. Errors: conflict
/// (it is there with another size; others hold the lock for longer than anybody works with it). Blocks: yes.
std::string share_memory(const std::string& root, const std::string& name, std::int64_t memory_mb,
                         const std::string& directory);
/// The directories of machines that use it.
std::vector<std::string> memory_users(const std::string& root, const std::string& name);
/// The last one takes it along. Nothing happens when the machine is none of its users.
void release_memory(const std::string& root, const std::string& name, const std::string& directory);
/// What nobody uses any more goes.
void reap_memory(const std::string& root);

}  // namespace underway::vm
