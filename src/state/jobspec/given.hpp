#pragma once
/// @file
/// What of a job was written: the names that stand in its text, block by block. A decoded job no longer tells whether
/// `count = 1` was said or is the default, and whoever parses a file to fill in the rest himself asks just that.

#include "base/json/describe.hpp"
#include "model/job/job.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace underway::jobspec {

/// Of one block. Names are those of the wire.
class Given {
 public:
  void note(std::string_view field) { fields_.emplace(field); }
  /// Another block of a field that has several, or its only one.
  Given& add(std::string_view field) { return blocks_[std::string(field)].emplace_back(); }
  Given& add(std::string_view field, const std::string& key) { return keyed_[std::string(field)][key]; }

  bool names(std::string_view field) const;
  /// The block at `index` of `count`; null where they were not all noted.
  const Given* find(std::string_view field, std::size_t index, std::size_t count) const;
  const Given* find(std::string_view field, const std::string& key) const;

 private:
  std::set<std::string, std::less<>> fields_;
  std::map<std::string, std::vector<Given>, std::less<>> blocks_;
  std::map<std::string, std::map<std::string, Given>, std::less<>> keyed_;
};

/// What an object of the API's JSON gives of a struct.
Given given_by(const boost::json::object& object, const describe::Structure& structure);

/// A job as Nomad's parser answers it unasked to fill in: what was given with its value, even if it is the default;
/// what was not, as null, or as the nothing of its Go type; and what Nomad does not know not at all. Source: api/*.go
/// and jobspec2/parse_job.go (normalizeJob) at v1.6.5.
std::string encode_given(const model::Job& job, const Given& given);

}  // namespace underway::jobspec
