#pragma once
/// @file
/// A lease keeps an image's layers in the store. One with a name is a file: it outlives this process once it is kept.
/// One without ends with its holder, however that ends.

#include <optional>
#include <string>

#include "os/file.hpp"

namespace underway::oci {

class Records;

class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept;
  /// Releases it, unless it was kept.
  ~Lease() { release(); }

  const std::string& name() const { return name_; }
  /// It stays until Store::release, also when this process dies. Only one that has a name.
  void keep() noexcept { directory_.clear(); }
  void release() noexcept;

  /// For Store. The id of the file that a lease with this name has; a fresh one for no name.
  static std::string id_of(const std::string& name);
  Lease(const Records& records, std::string id, std::string name);
  const std::string& id() const { return id_; }

 private:
  std::string directory_;  ///< of the store; empty: nothing to release
  std::string id_, name_;
  std::optional<os::FileLock> lock_;
};

}  // namespace underway::oci
