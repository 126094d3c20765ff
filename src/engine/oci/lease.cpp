#include "oci/lease.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "oci/records.hpp"

namespace underway::oci {

std::string Lease::id_of(const std::string& name) {
  return hex(name.empty() ? random_bytes(32) : crypto::sha256(name));
}

Lease::Lease(const Records& records, std::string id, std::string name)
    : directory_(records.directory()), id_(std::move(id)), name_(std::move(name)) {
  if (name_.empty()) lock_ = os::FileLock::acquire(records.lease_lock(id_), fmt::format("pid {}", ::getpid()));
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  release();
  directory_ = std::exchange(other.directory_, {});
  id_ = std::move(other.id_);
  name_ = std::move(other.name_);
  lock_ = std::exchange(other.lock_, std::nullopt);
  return *this;
}

void Lease::release() noexcept {
  if (directory_.empty()) return;
  ::unlink((directory_ + "/leases/" + id_ + ".json").c_str());
  if (lock_) ::unlink(lock_->path().c_str());
  lock_.reset();
  directory_.clear();
}

}  // namespace underway::oci
