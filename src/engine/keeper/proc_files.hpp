#pragma once
/// @file
/// What the keeper reads in /proc and in cgroups. libc only: part of the keeper.

#include <cstddef>
#include <cstdint>

namespace underway::keeper {

/// Reads a small file whole into `out`, NUL-terminated; its length, 0 when it cannot be read.
std::size_t read_small(const char* path, char* out, std::size_t size);
/// Field 22 of /proc/<pid>/stat; 0 when there is no such process.
std::uint64_t start_time_of(std::int32_t pid);
/// As the mounted /proc numbers us, which is as the agent does.
std::int32_t own_pid();
/// SIGKILL to every number in a file of them, as cgroup.procs and children are; ourselves excepted.
void kill_listed(const char* path);

}  // namespace underway::keeper
