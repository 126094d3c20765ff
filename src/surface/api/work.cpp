#include "api/work.hpp"

namespace underway::api {

std::string client_of(const Request& request) {
  const acl::Identity& caller = request.caller();
  const bool token = caller.kind != acl::Identity::Kind::anonymous && !caller.is_permanent();
  if (token && !caller.accessor.empty()) return caller.accessor;
  // Everybody is the same where nobody is asked for a token.
  const std::string& address = request.remote.address;
  return fmt::format("{}|{}", address.substr(0, address.rfind(':')), caller.accessor);
}

}  // namespace underway::api
