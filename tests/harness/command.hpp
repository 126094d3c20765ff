#pragma once
/// @file
/// Running programs from tests, as a person would from a shell, and waiting for what they bring about. Limits are those
/// of a test that has the machine for itself: beside others it waits four times as long before it gives up.

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace underway::harness {

struct Finished {
  int exit_code = -1;  ///< 128 + n when signal n ended it
  std::string out;
  std::string err;
  bool timed_out = false;
};

struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  ///< added to the test's own
  std::string directory;
  std::string input;
  std::chrono::seconds limit{60};
  /// It is killed when the thread that started it ends, by SIGKILL too (prctl(2), PR_SET_PDEATHSIG): for what would go
  /// on for ever, and that nobody looks for.
  bool ends_with_us = false;
};

/// Runs to the end, or kills the whole process group at the limit.
Finished run(const Command& command);
/// The same through `/bin/sh -c`.
Finished shell(const std::string& line, std::chrono::seconds limit = std::chrono::seconds(60));

/// A program that goes on running; killed with its process group when destroyed.
class Background {
 public:
  explicit Background(const Command& command);
  Background(Background&& other) noexcept;
  ~Background();
  int pid() const { return pid_; }
  void signal(int number) const;
  /// The exit code as in Finished; -1 when it still runs at the limit.
  int wait(std::chrono::seconds limit);
  /// What it has written so far, to both.
  std::string told() const;

 private:
  int pid_ = -1;
  int output_ = -1;  ///< a file without a name
};

/// Asks `holds` until it is true: every 20 ms, or more seldom when it takes long to say. False at the limit.
bool eventually(std::chrono::seconds limit, const std::function<bool()>& holds);
/// Asks in the same way whether it goes on to be true for so long; false as soon as it is not.
bool stays(std::chrono::seconds span, const std::function<bool()>& holds);

std::string read_text(const std::string& path);
/// Replaces what is there. A link is not followed: in the root of a host it may name a file of the machine, as
/// /usr/local/bin/underway does after `make up`.
void write_text(const std::string& path, const std::string& text);

/// An empty directory of its own below /tmp, removed at the end (mounts below it are the test's to remove).
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Everything that the cluster `name` in `state_dir` may leave on the machine, in words: processes, mounts, cgroups,
/// links and nftables tables of the machine. Empty when nothing is left.
std::vector<std::string> leftovers(const std::string& state_dir, const std::string& name);

}  // namespace underway::harness
