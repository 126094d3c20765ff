#include "files/masters/select.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"

namespace underway::files {
namespace {

bool names(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return glob_match(pattern, name); });
}

}  // namespace

int closeness(const model::FileDeclaration& file, const Target& target) {
  if (file.cluster != target.cluster || file.type == model::FileType::part) return 0;
  const auto& wanted = file.targets;
  if (!target.capsule.empty()) return names(wanted.capsules, target.capsule) ? 4 : 0;
  if (wanted.empty()) return 1;
  if (names(wanted.nodes, target.node)) return 4;
  if (!target.node_class.empty() && names(wanted.classes, target.node_class)) return 3;
  return names(wanted.pools, target.pool) ? 2 : 0;
}

Selection select(const std::vector<model::FileDeclaration>& declared, const Target& target) {
  struct Best {
    const model::FileDeclaration* file;
    int closeness;
    const model::FileDeclaration* rival;
  };
  std::map<std::string_view, Best> best;
  for (const auto& file : declared) {
    const int close = closeness(file, target);
    if (close == 0) continue;
    const auto [it, is_new] = best.try_emplace(file.where(), Best{&file, close, nullptr});
    if (is_new || close < it->second.closeness) continue;
    if (close > it->second.closeness) {
      it->second = {&file, close, nullptr};
    } else {
      const bool before = file.name < it->second.file->name;
      it->second.rival = before ? it->second.file : &file;
      if (before) it->second.file = &file;
    }
  }
  Selection out;
  for (const auto& [path, entry] : best) {
    out.files.push_back(entry.file);
    if (entry.rival != nullptr)
      out.problems.push_back(
          fmt::format("'{}' and '{}' both say what '{}' is, and name the target as closely; '{}' counts",
                      entry.file->name, entry.rival->name, path, entry.file->name));
  }
  return out;
}

}  // namespace underway::files
