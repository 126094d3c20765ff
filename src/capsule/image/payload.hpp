#pragma once
/// @file
/// Digests of files and of payloads, read through a descriptor: never by mapping, so a file that shrinks under us is
/// an error and not a signal.

#include "image/manifest.hpp"
#include "os/fd.hpp"

namespace underway::image {

inline constexpr std::int64_t kBlock = 4096;  ///< what payloads are padded to: a block of erofs

/// SHA-256 of a whole file, hexadecimal. Blocks: yes.
std::string file_digest(const os::Fd& file, const std::string& name);

/// SHA-256 of each chunk of the first `size` bytes, hexadecimal, on all processors. Errors: invalid when the file is
/// shorter. Blocks: yes.
std::vector<std::string> chunk_digests(const os::Fd& file, std::int64_t size, std::int64_t chunk_size,
                                       const std::string& name);

}  // namespace underway::image
