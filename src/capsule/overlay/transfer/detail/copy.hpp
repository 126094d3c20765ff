#pragma once
/// @file
/// A copy's directory: its state, its index, the differences that wait, and putting them into the tree.

#include <functional>
#include <optional>

#include "overlay/transfer/detail/apply.hpp"
#include "overlay/transfer/detail/frame.hpp"

namespace underway::overlay {

/// Where the parts of a copy lie. Index and round belong together: they change with the generation, in one step.
struct CopyPlaces {
  explicit CopyPlaces(const std::string& dir);
  std::string index(std::int64_t generation) const;
  std::string round(std::int64_t generation) const;
  std::string dir, tree, state, trash, lock;
};

/// Takes differences (remove, put, data, zeros) into an index, and into a tree if there is one. Errors: invalid.
class Intake {
 public:
  Intake(Index& index, Applier* applier) : index_(index), applier_(applier) {}
  void take(const Frame& frame);

 private:
  void take_put(std::string_view payload);
  void take_bytes(const Frame& frame);
  Index& index_;
  Applier* applier_;
  Entry* file_ = nullptr;  ///< into which bytes go
};

std::optional<CopyState> find_copy_state(const CopyPlaces& places);
void write_copy_state(const CopyPlaces& places, const CopyState& state);
/// The index of the tree; read from the tree when it was lost.
Index load_index(const CopyPlaces& places, std::int64_t generation, IndexLimits limits);
void save_index(const CopyPlaces& places, std::int64_t generation, const Index& index);
/// Gives the differences that wait one by one; returns the length of those that are whole.
std::uint64_t replay(const std::string& round, const std::function<void(const Frame&)>& take);
/// Puts them into the tree: the second half of a consistent round, whose first was to set CopyState::applying.
void apply_round(const CopyPlaces& places, CopyState& state);
/// Removes what another generation, or a copy that was given up, has left behind.
void sweep(const CopyPlaces& places, std::optional<std::int64_t> keep);

}  // namespace underway::overlay
