#pragma once
/// @file
/// A suite of deb packages.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "package/list.hpp"
#include "publish/file.hpp"
#include "suite/release.hpp"

namespace underway::publish {

/// What a component has for an architecture; packages for all architectures are among them.
struct DebPart {
  std::string component, architecture;
  package::PackageList packages;
};

struct DebSuite {
  suite::Release head;  ///< its files, components and architectures are filled in
  std::vector<DebPart> parts;
};

/// Signs in the clear, or beside: what openpgp's key does, given the text.
struct DebSigner {
  std::function<std::string(std::string_view text)> clearsign;
  std::function<std::string(std::string_view text)> sign;
};

/// Makes all indexes, `Release`, `Release.gpg` and `InRelease`, in this order, and hands them to `keep`. Each index is
/// there plain, with gzip and with zstd, and again by its digest (apt's Acquire-By-Hash). Packages lie where path_of
/// says; the rest of what upstream says of them is kept byte for byte. The same input gives the same bytes. Errors:
/// invalid for a part that is there twice, or for a package that is none of deb's.
std::vector<File> publish_deb(DebSuite suite, const DebSigner& signer, const Keep& keep);

}  // namespace underway::publish
