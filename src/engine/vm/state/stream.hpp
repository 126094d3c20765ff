#pragma once
/// @file
/// A machine's memory on its way into a file and out of it: compressed as it comes (zstd, level 1), and its digest
/// taken of what lies on the disk, so that it can be checked without unpacking.
///
/// Level 1: the 135 MB of a guest of 256 MiB become 28 MB in 0.3 s of one core; the levels above gain little on pages
/// and cost the time in which the guest stands still. Up to four threads compress, and what is done goes to the disk
/// meanwhile: 200 MiB, most of which do not compress, took 0.71 s without both and 0.48 s with them (two cores).

#include <cstdint>
#include <string>

#include "base/clock.hpp"
#include "os/fd.hpp"

namespace underway::vm {

struct Stored {
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::string sha256;  ///< of the stored bytes, in hexadecimal
};

/// Reads the socket `from` to its end and writes it to `to`. Errors: exhausted (the disk is full) and others of the
/// disk; timeout when nothing comes for `patience`. Blocks: yes.
Stored pack(const os::Fd& from, const os::Fd& to, const std::string& path, Duration patience);
/// The way back, into the socket `to`. Errors: unavailable when its reader has gone; invalid when it is no such file.
void unpack(const os::Fd& from, const std::string& path, const os::Fd& to, Duration patience);
/// Of a whole file: as in Stored. Blocks: yes.
std::string file_digest(const os::Fd& file, const std::string& path);

/// Two ends of a stream, for what a pipe is too small for: a write to one whose reader has gone is no signal.
struct StreamPair {
  os::Fd ours, theirs;
};
StreamPair open_stream();

}  // namespace underway::vm
