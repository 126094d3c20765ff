#pragma once
/// @file
/// An `.rpm` file: lead, signatures, header, payload. The payload is a compressed archive of cpio, of which the header
/// tells what is in it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "archive/file.hpp"
#include "os/fd.hpp"
#include "rpmmd/element.hpp"

namespace underway::archive {

struct Rpm {
  rpmmd::Description description;
  std::vector<File> files;
  std::vector<std::string> scripts;  ///< "pre", "post", "preun", "postun", "pretrans", "posttrans", "trigger", "verify"
  std::string digest;                ///< SHA-256 of the file, hexadecimal
  std::uint64_t size = 0;            ///< of the file
  /// Only SHA-1 or MD5 vouch for the header or the payload, as in packages for EL 6 and before.
  bool weak = false;
};

/// Reads the whole file and checks the digests that it has of its header and its payload; signatures are not looked at.
/// `name` is for errors. Blocks: yes.
/// Errors: invalid for what is no .rpm, is damaged, or has no digest of its header or of its payload; unsupported for
/// packages made before rpm 4.0; denied for a file that is no file, directory or link, or whose path could lead
/// anywhere; too_large.
Rpm read_rpm(const os::Fd& file, const std::string& name);

/// What `bytes` say, which are an .rpm file or as much of it as holds its headers. Digests are not checked: `digest`,
/// `size` and `weak` stay empty. Errors: as read_rpm.
Rpm parse_rpm(std::string_view bytes, const std::string& name);

}  // namespace underway::archive
