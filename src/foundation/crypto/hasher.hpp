#pragma once
/// @file
/// SHA-256 of what does not come, or is not held, in one piece.

#include <memory>
#include <string>
#include <string_view>

namespace underway::crypto {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  void add(std::string_view bytes);
  /// 32 bytes, of all that was added; afterwards nothing can be added any more.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace underway::crypto
