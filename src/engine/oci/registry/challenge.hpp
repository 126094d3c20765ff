#pragma once
/// @file
/// What a registry answers to who has not said who he is: WWW-Authenticate (RFC 9110, section 11.6.1).

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace underway::oci {

struct Challenge {
  std::string scheme;                             ///< lower case: "bearer", "basic"
  std::map<std::string, std::string> parameters;  ///< names in lower case: "realm", "service", "scope"
};

/// What can be read of it; the rest is left out.
std::vector<Challenge> parse_challenges(std::string_view header);

}  // namespace underway::oci
