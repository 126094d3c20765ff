#pragma once
/// @file
/// `${…}` at run time: what the job file's parser left because only the node knows it.

#include <boost/json/value.hpp>

#include <string>
#include <string_view>

#include "model/node/node.hpp"

namespace underway::node {

/// What `${…}` may name.
class Interpolation {
 public:
  Interpolation() = default;
  /// `meta` (job, group, task: later wins) covers the node's.
  Interpolation(const model::Node& node, const std::string& region);

  /// The task's environment, for `${NAME}` and `${env["any name"]}`.
  void set_environment(model::StringMap environment) { environment_ = std::move(environment); }
  const model::StringMap& environment() const { return environment_; }
  /// Values of the task's `secret` blocks, by "secret.<block>.<item>".
  void set_secrets(model::StringMap secrets) { secrets_ = std::move(secrets); }
  const model::StringMap& secrets() const { return secrets_; }
  /// "attr.…", "meta.…", "node.…".
  const model::StringMap& properties() const { return properties_; }

  /// The value of what stands between `${` and `}`; nothing when it names nothing here.
  std::optional<std::string> find(std::string_view name) const;
  /// Replaces each `${name}` that is known. Unknown ones stay as they are: shells use the same signs.
  std::string apply(std::string_view text) const;
  /// Every string value inside `json`; keys stay.
  boost::json::value apply_to(const boost::json::value& json) const;

 private:
  model::StringMap properties_;
  model::StringMap environment_;
  model::StringMap secrets_;
};

}  // namespace underway::node
