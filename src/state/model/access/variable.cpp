#include "model/access/variable.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

std::string path_problem(std::string_view path) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '~' || c == '/';
  };
  if (path.empty()) return "the path is empty";
  if (path.size() > kVariablePath)
    return fmt::format("the path has {} characters, and {} at most are allowed", path.size(), kVariablePath);
  if (!std::ranges::all_of(path, fits)) return "the path may hold letters, digits, '-', '_', '~' and '/' only";
  if (path.front() == '/' || path.back() == '/' || path.find("//") != std::string_view::npos)
    return "the path has an empty part";
  const bool reserved = path == "nomad" || path.starts_with("nomad/");
  const bool allowed = path == "nomad/jobs" || path.starts_with("nomad/jobs/");
  if (reserved && !allowed) return "below 'nomad', only 'nomad/jobs' and what is below it may be written";
  return {};
}

std::vector<std::string> problems(const std::string& path, const StringMap& items) {
  std::vector<std::string> out;
  if (std::string wrong = path_problem(path); !wrong.empty()) out.push_back(std::move(wrong));
  if (items.empty()) out.emplace_back("it has no items");
  std::size_t size = 0;
  for (const auto& [key, value] : items) {
    size += key.size() + value.size();
    if (key.empty()) out.emplace_back("an item has an empty key");
    if (!is_utf8(key)) out.emplace_back("a key is not UTF-8");
    if (!is_utf8(value)) out.push_back(fmt::format("the value of '{}' is not UTF-8: encode it, e.g. in base64", key));
  }
  if (size > kVariableBytes)
    out.push_back(fmt::format("its items have {} bytes, and {} at most are allowed", size, kVariableBytes));
  return out;
}

std::string variable_key(std::string_view ns, std::string_view path) { return fmt::format("{}/{}", ns, path); }

std::vector<std::string> implicit_paths(std::string_view job, std::string_view group, std::string_view task) {
  return {"nomad/jobs", fmt::format("nomad/jobs/{}", job), fmt::format("nomad/jobs/{}/{}", job, group),
          fmt::format("nomad/jobs/{}/{}/{}", job, group, task)};
}

bool may_read_implicitly(std::string_view path, std::string_view job, std::string_view group, std::string_view task) {
  const auto own = implicit_paths(job, group, task);
  return std::ranges::find(own, path) != own.end();
}

const Structure& description(Tag<VariableLock>) {
  static const Structure s = Builder<VariableLock>("variable lock", "Who holds a variable.")
                                 .wire<&VariableLock::id>("ID", "What its holder names.")
                                 .wire<&VariableLock::ttl>("TTL", "Lost without a renewal for so long.")
                                 .wire<&VariableLock::lock_delay>("LockDelay", "Free so long after it was lost.")
                                 .done();
  return s;
}

const Structure& description(Tag<Variable>) {
  static const Structure s =
      Builder<Variable>("variable", "A variable, sealed.")
          .wire<&Variable::ns>("Namespace", "Its namespace.")
          .wire<&Variable::path>("Path", "Its path.")
          .wire<&Variable::key_id>("KeyID", "The root key under which it is sealed.")
          .wire<&Variable::sealed>("Data", "Its items, sealed.")
          .wire<&Variable::lock>("Lock", "Who holds it.")
          .wire<&Variable::create_time>("CreateTime", "Unix time in nanoseconds at which it was made.")
          .wire<&Variable::modify_time>("ModifyTime", "Unix time in nanoseconds at which it last changed.")
          .wire<&Variable::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&Variable::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

const Structure& description(Tag<VariableLease>) {
  static const Structure s =
      Builder<VariableLease>("variable lease", "Until when a lock is good.")
          .wire<&VariableLease::ns>("Namespace", "Namespace of the variable.")
          .wire<&VariableLease::path>("Path", "Path of the variable.")
          .wire<&VariableLease::lock_id>("LockID",
                                         "ID of the lock; empty: it was lost, and nobody may take it before Until.")
          .wire<&VariableLease::until>("Until", "Unix time in nanoseconds until which the lock is good.")
          .wire<&VariableLease::lock_delay>("LockDelay", "How long after Until nobody gets the lock, in nanoseconds.")
          .wire<&VariableLease::create_index>("CreateIndex", "Revision in which the lock was taken.")
          .wire<&VariableLease::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model
