#pragma once
/// @file
/// Bytes that nobody else may read: they are overwritten when their owner lets them go. Copies are made by name only.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace underway::crypto {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view bytes) : bytes_(bytes.begin(), bytes.end()) {}
  /// Takes the bytes over and overwrites where they were.
  static Secret take(std::string&& bytes);
  /// From the kernel's generator.
  static Secret random(std::size_t size);

  Secret(Secret&& other) noexcept { swap(other); }
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { wipe(); }

  Secret copy() const { return Secret(bytes()); }
  /// Valid as long as this lives. Whoever copies it into a string has a secret that is not wiped.
  std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

 private:
  void swap(Secret& other) noexcept { bytes_.swap(other.bytes_); }
  void wipe() noexcept;

  // Never grows, so that no allocation that held the bytes is left behind; a string would keep short ones in itself.
  std::vector<char> bytes_;
};

/// Overwrites and empties a string that held a secret on its way.
void wipe(std::string& text) noexcept;

}  // namespace underway::crypto
