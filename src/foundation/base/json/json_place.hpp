#pragma once
/// @file
/// Where in a document one is, for the errors of whoever descends into it.

#include <cstddef>
#include <string>
#include <string_view>

namespace underway::json {

/// One step of the way down; it refers to the step above, which must outlive it. Costs nothing until its text is asked
/// for: most documents are right.
class Place {
 public:
  explicit Place(std::string_view root = {}) : name_(root) {}

  Place field(std::string_view name) const { return {*this, Step::field, name, 0}; }
  Place element(std::size_t index) const { return {*this, Step::element, {}, index}; }
  Place key(std::string_view key) const { return {*this, Step::key, key, 0}; }

  /// As people write it: Job.TaskGroups[3].Meta["team"]. Empty for a root without a name.
  std::string text() const;

 private:
  enum class Step { root, field, element, key };
  Place(const Place& above, Step step, std::string_view name, std::size_t index)
      : above_(&above), step_(step), name_(name), index_(index) {}

  const Place* above_ = nullptr;
  Step step_ = Step::root;
  std::string_view name_;
  std::size_t index_ = 0;
};

}  // namespace underway::json
