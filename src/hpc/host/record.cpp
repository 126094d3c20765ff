#include <boost/json.hpp>

#include "base/error.hpp"
#include "host/detail/record.hpp"

namespace underway::host {

namespace json = boost::json;

std::string encode_record(const HostInfo& host) {
  json::object addresses;
  for (const auto& [network, address] : host.addresses) addresses[network] = to_string(address);
  return json::serialize(json::object{{"cluster", host.cluster},
                                      {"name", host.name},
                                      {"pool", host.pool},
                                      {"addresses", addresses},
                                      {"pid", host.init.pid},
                                      {"start_time", host.init.start_time},
                                      {"created_at", host.created_at},
                                      {"console", host.console}});
}

std::optional<HostInfo> decode_record(std::string_view text) {
  try {
    const auto value = json::parse(text);
    HostInfo host;
    host.cluster = json::value_to<std::string>(value.at("cluster"));
    host.name = json::value_to<std::string>(value.at("name"));
    host.pool = json::value_to<std::string>(value.at("pool"));
    host.console = json::value_to<std::string>(value.at("console"));
    host.init = {json::value_to<pid_t>(value.at("pid")), json::value_to<std::uint64_t>(value.at("start_time"))};
    host.created_at = json::value_to<std::int64_t>(value.at("created_at"));
    for (const auto& item : value.at("addresses").as_object()) {
      const auto address = net::parse_cidr(json::value_to<std::string>(item.value()));
      if (!address) return std::nullopt;
      host.addresses.emplace(item.key(), *address);
    }
    return host;
  } catch (const std::exception&) {  // Boost.JSON's several
    return std::nullopt;
  }
}

}  // namespace underway::host
