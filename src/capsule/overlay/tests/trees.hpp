#pragma once
/// @file
/// Random trees that change, what they are in words, and a pipe between a sender and a receiver that can break.

#include <random>

#include "overlay/transfer/transfer.hpp"
#include "places.hpp"

namespace underway::overlay {

/// Makes and changes a tree at random; the same seed does the same.
class Gardener {
 public:
  Gardener(std::string root, std::uint64_t seed);
  void grow(int changes);

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::string any(char type);
  std::string fresh();
  void once();
  void write_some(const std::string& path);
  void replace(const std::string& path);
  void attributes(const std::string& path);

  std::string root_;
  std::mt19937_64 random_;
  std::uint64_t named_ = 0;
};

/// Where writing out costs nothing.
inline constexpr const char* kMemory = "/dev/shm";

/// One line for each path, with all that a copy has to keep.
std::string words_of(const std::string& root);

/// Bytes go to and fro until both are done, or `allowed` bytes have gone. Whether they were done.
bool pump(Party& sender, Party& receiver, std::uint64_t allowed = ~std::uint64_t{0});
/// One whole round from `upper` to the copy in `dir`; what the sender counted.
Round send_round(const std::string& upper, const std::string& dir, SendOptions options = {});

}  // namespace underway::overlay
