#pragma once
/// @file
/// What Ctrl-C says while a command only watches: that what it watches goes on, and how to go on watching.

#include <string>

namespace underway::cli {

/// While it lives, SIGINT prints `message` to standard error before it ends the program, as it would have. Of several
/// the newest counts, and they end in the reverse order. Thread: the program's only one.
class OnInterrupt {
 public:
  explicit OnInterrupt(std::string message);
  ~OnInterrupt();
  OnInterrupt(const OnInterrupt&) = delete;
  OnInterrupt& operator=(const OnInterrupt&) = delete;

 private:
  std::string message_;
  const std::string* before_;
};

}  // namespace underway::cli
