#pragma once
/// @file
/// The bytes of a layer, decompressed ahead of their reader by a thread of their own: decompression and the writing of
/// files take about as long, and a machine has more than one core.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "crypto/hasher.hpp"
#include "os/fd.hpp"

namespace underway::oci {

struct StreamLimits {
  std::int64_t bytes = std::int64_t{1} << 40;  ///< unpacked
  /// Unpacked to packed bytes, of what unpacks to more than `ratio_from`.
  std::int64_t ratio = 1'000'000'000, ratio_from = 0;
};

class LayerStream {
 public:
  /// Plain, gzip (of several members as well) or zstd (of several frames): the first bytes tell, for media types lie.
  /// `file` is read from its start and outlives this. `name` is for errors.
  /// `packed_digest`: not empty: the packed bytes are compared with it at the end.
  LayerStream(const os::Fd& file, std::string name, std::string packed_digest, const StreamLimits& limits);
  /// Stops it wherever it is.
  ~LayerStream();
  LayerStream(const LayerStream&) = delete;
  LayerStream& operator=(const LayerStream&) = delete;

  /// The next piece, valid until the next call; empty at the end.
  /// Errors: invalid (damaged, truncated), too_large (a bomb), denied (digest).
  std::string_view next();

 private:
  class Output;
  void produce();
  void read_plain(Output& out, std::string_view first);
  void inflate_gzip(Output& out, std::string_view first);
  void inflate_zstd(Output& out, std::string_view first);
  /// The next packed bytes; empty at the end.
  std::string_view read();
  void check(std::int64_t out) const;

  const os::Fd& file_;
  std::string name_, packed_digest_;
  StreamLimits limits_;
  std::vector<char> packed_;
  std::int64_t read_ = 0;
  crypto::Hasher hasher_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<char>> full_, empty_;
  bool ended_ = false, stopped_ = false;
  std::exception_ptr failure_;
  std::vector<char> current_;  ///< what the reader has
  std::jthread thread_;
};

}  // namespace underway::oci
