#pragma once
/// @file
/// A snapshot as one file. Everything blocks: disk and a processor.
///
/// A ustar archive, packed by gzip, with these files and no others, in this order:
///
///     meta.json    Metadata, as JSON: first, so that what it is can be told without the rest
///     state.bin    every key of the store (state_file.hpp)
///     SHA256SUMS   "<sum of meta.json>  meta.json\n<sum of state.bin>  state.bin\n", as sha256sum(1) reads them

#include "snapshot/metadata.hpp"

namespace underway::snapshot {

struct Packed {
  std::int64_t size = 0;  ///< bytes of the archive
  std::string sha256;     ///< of the archive; 32 bytes
};
/// Packs a finished state file. `archive` is made with mode 0600 and must not exist.
Packed pack(const Metadata& metadata, const std::string& state_file, const std::string& archive);

struct Limits {
  std::int64_t state_bytes = std::int64_t{64} << 30;  ///< unpacked
};
/// Unpacks to `state_file`, which must not exist, after which all of it has been verified: sums, order, and that every
/// key can be read. On failure the file is gone.
/// Errors: invalid (cut short, changed, no snapshot), unsupported (made by a newer version), too_large.
Metadata unpack(const std::string& archive, const std::string& state_file, const Limits& limits = {});
/// The same without keeping the state.
Metadata inspect(const std::string& archive);

}  // namespace underway::snapshot
