#include "cli/host/find_host.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::cli {

model::Host find_host(sdk::Client& client, const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::string cluster = slash == std::string::npos ? "" : name.substr(0, slash);
  const std::string host_name = slash == std::string::npos ? name : name.substr(slash + 1);
  std::vector<model::Host> found;
  std::vector<std::string> names;
  for (auto& host : client.hosts(cluster)) {
    names.push_back(host.name);
    if (host.name == host_name) found.push_back(std::move(host));
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    throw Error(Code::conflict, fmt::format("there is a host '{}' in {} clusters", host_name, found.size()))
        .advise("name it as CLUSTER/HOST");
  Error error(Code::not_found, fmt::format("there is no host '{}'", host_name));
  if (!names.empty()) error.because("there are " + join_some(names, 10));
  throw error.advise("name one of `underway host list`");
}

}  // namespace underway::cli
