#pragma once
/// @file
/// Names and descriptions, as Nomad bounds them for policies, roles, node pools and the like (its structs,
/// validPolicyName, validNodePoolName and the maxima beside them).

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace underway::model::detail {

inline constexpr std::size_t kLongestName = 128;
inline constexpr std::size_t kLongestDescription = 256;

/// Letters, digits, '-' and '_'.
inline bool is_name(std::string_view name) {
  static constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return !name.empty() && name.size() <= kLongestName && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

/// `what` as people call it: "node pool".
inline void check_name(std::string_view what, const std::string& name, std::vector<std::string>& out) {
  if (is_name(name)) return;
  out.push_back(fmt::format("{} name '{}' is not of 1 to {} letters, digits, '-' and '_'", what,
                            name.substr(0, kLongestName), kLongestName));
}

inline void check_description(std::string_view what, const std::string& text, std::vector<std::string>& out) {
  if (text.size() > kLongestDescription)
    out.push_back(fmt::format("the description of the {} has {} bytes; at most {} are kept", what, text.size(),
                              kLongestDescription));
}

}  // namespace underway::model::detail
