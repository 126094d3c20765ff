#pragma once
/// @file
/// Which cores tasks run on: those that hold some run on theirs, all others on what is left. Thread: the loop's.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace underway::node {

class CorePartition {
 public:
  CorePartition() = default;
  /// `all` that tasks may use at all: without what is kept back.
  explicit CorePartition(std::vector<std::int64_t> all) : all_(std::move(all)) {}

  /// A run of a task holds these until it lets go. True when the others have to move.
  bool hold(const std::string& run, const std::vector<std::int64_t>& cores);
  bool let_go(const std::string& run);
  /// For a task that holds none, as cpuset(7) writes it; empty: no restriction. When all are held it is all of them: a
  /// task that is to be stopped needs a core to handle its signal.
  std::string shared() const;

 private:
  std::vector<std::int64_t> all_;
  std::map<std::string, std::vector<std::int64_t>> held_;
};

}  // namespace underway::node
