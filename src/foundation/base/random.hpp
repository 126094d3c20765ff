#pragma once
/// @file
/// Identifiers and randomness. Decisions take an IdSource, so that a seed reproduces a history; only start-up builds
/// the real one.

#include <cstdint>
#include <random>
#include <string>

namespace underway {

class IdSource {
 public:
  virtual ~IdSource() = default;
  /// A fresh UUID, "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx" (RFC 9562 version 4: Nomad's clients match on its shape).
  virtual std::string uuid() = 0;
};

/// From the kernel's generator (getrandom(2)).
class SystemIds final : public IdSource {
 public:
  std::string uuid() override;
};

/// Reproducible: the same seed gives the same sequence. Tests and simulator only.
class SeededIds final : public IdSource {
 public:
  explicit SeededIds(std::uint64_t seed) : engine_(seed) {}
  std::string uuid() override;

 private:
  std::mt19937_64 engine_;
};

/// `size` bytes from getrandom(2).
std::string random_bytes(std::size_t size);
/// Whether `text` has the shape of a UUID.
bool is_uuid(std::string_view text);

}  // namespace underway
