#pragma once
/// @file
/// A `.deb` file (deb(5)): an archive of ar with `debian-binary`, `control.tar` and `data.tar`.

#include <cstdint>
#include <string>
#include <vector>

#include "archive/file.hpp"
#include "os/fd.hpp"

namespace underway::archive {

struct DebLimits {
  std::uint64_t control_bytes = 64U << 20;             ///< of all that is in control.tar
  std::uint64_t data_bytes = std::uint64_t{64} << 30;  ///< of all files that it installs
  std::uint64_t files = 2'000'000;
};

/// A file that dpkg asks about before it changes what somebody has edited.
struct Conffile {
  std::string path;
  bool remove = false;  ///< it is taken away at the upgrade ("remove-on-upgrade")
  bool operator==(const Conffile&) const = default;
};

struct Deb {
  std::string control;  ///< the stanza, as it is in the package
  std::vector<Conffile> conffiles;
  std::vector<std::string> scripts;  ///< "postinst", "prerm", …, sorted: what runs as root when it is installed
  std::vector<File> files;           ///< in the order of the package
};

/// Reads all but the bytes of the files. `name` is for errors. Blocks: yes.
/// Errors: invalid for what is no .deb or is damaged; unsupported for another version of the format than 2;
/// denied for an entry that is no file, directory or link, that would lie outside or behind a link of the same package;
/// too_large.
Deb read_deb(const os::Fd& file, const std::string& name, const DebLimits& limits = {});

}  // namespace underway::archive
