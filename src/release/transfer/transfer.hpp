#pragma once
/// @file
/// Fetching from an upstream server with libcurl: http, https and file.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace underway::transfer {

struct Upstream {
  std::string url;                                  ///< what paths are appended to
  std::string proxy;                                ///< empty: none, whatever the environment says
  unsigned connections = 8;                         ///< at once; the mirrors of distributions ask for few
  Duration silence = std::chrono::seconds{60};      ///< a server that sends next to nothing for so long has hung
  Duration longest = std::chrono::hours{1};         ///< of one try: who sends a little now and then is no server either
  unsigned tries = 4;                               ///< of one file, where trying again may help
  Duration pause = std::chrono::milliseconds{500};  ///< before the second try; doubles
};

/// What a server said of a file that is known: asked with it, it sends the file only when that has changed.
struct Known {
  std::string etag;
  std::string modified;  ///< as it spells it
  bool operator==(const Known&) const = default;
};

struct Document {
  bool changed = false;  ///< nothing else is set when it has not
  std::string bytes;
  Known known;
};

/// Whoever takes a file piece by piece. All calls come from the thread that called fetch().
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// How much of it is there from an earlier time: it goes on behind that.
  virtual std::uint64_t received() = 0;
  /// The next bytes.
  virtual void take(std::string_view bytes) = 0;
  /// The server does not go on in the middle: it comes from the start again.
  virtual void restart() = 0;
  /// All has come. Throws when it is not what was promised; that is not tried again.
  virtual void finish() = 0;
};

struct Wanted {
  std::string path;
  std::uint64_t size = 0;  ///< a server that sends more has something else there: Error(too_large)
  Receiver* receiver = nullptr;
};

struct Failure {
  std::size_t index = 0;  ///< of the file in what was asked for
  Error error;
};

/// Called now and then while files come, with the bytes and files that have come. False: enough, nothing more is asked
/// for.
using Progress = std::function<bool(std::uint64_t bytes, std::size_t files)>;

/// Thread: one at a time. Blocks: yes. `path` of every call is below the upstream's URL, and is escaped as far as it
/// has to be. Redirections are followed, ten of them, to http and https only.
class Transfer {
 public:
  explicit Transfer(Upstream upstream);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// The whole of a small file. Errors: not_found; too_large beyond `limit`; unavailable and timeout after so many
  /// tries.
  Document get(const std::string& path, std::size_t limit, const Known& known = {});

  /// All of them, several at once, in whatever order. One that fails keeps no other from coming; what failed is
  /// returned, by index. Nothing more is begun once `most_failures` have failed: a server that has none of it is not
  /// asked for all.
  std::vector<Failure> fetch(const std::vector<Wanted>& wanted, std::size_t most_failures = 20,
                             const Progress& progress = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace underway::transfer
