#pragma once
/// @file
/// OCI's image layout: an index, manifests and layers, each a file that is named by its digest (OCI image specification
/// 1.1, image-layout.md). Everything in it comes from anybody: links do not lead out of it, and what is read is
/// compared with its digest.

#include "oci/document.hpp"
#include "oci/root.hpp"

namespace underway::oci {

class Layout {
 public:
  /// Throws not_found when there is no such directory.
  explicit Layout(const std::string& directory) : root_(directory) {}

  const Root& root() const { return root_; }
  /// Its index.json. Throws Error(invalid) when there is none.
  Document index() const;
  /// A blob that has the size that is said, open at its start; its digest is not looked at.
  /// Errors: not_found; denied when the size differs.
  os::Fd open(const Descriptor& blob) const;
  /// The same, compared with its digest. Errors: also denied. Blocks: yes (reads all of it).
  os::Fd open_verified(const Descriptor& blob) const;
  /// All of a document, verified.
  std::string read(const Descriptor& blob) const;
  /// The manifest's descriptor of the image that is meant (`choose`), through an index within the index as well.
  Descriptor find(const std::string& tag, const Platform& platform) const;

 private:
  Root root_;
};

/// "sha256:<hex>" of the whole file, which is left where it stands. Blocks: yes.
std::string digest_of(const os::Fd& file, const std::string& name);

}  // namespace underway::oci
