#include <boost/json.hpp>

#include "network/detail/rules.hpp"

namespace underway::network {
namespace {

boost::json::object match(boost::json::value left, boost::json::value right, const char* op = "==") {
  return {{"match", {{"op", op}, {"left", std::move(left)}, {"right", std::move(right)}}}};
}
boost::json::object field(const char* protocol, const char* name) {
  return {{"payload", {{"protocol", protocol}, {"field", name}}}};
}
boost::json::object meta(const char* key) { return {{"meta", {{"key", key}}}}; }
boost::json::object prefix(const net::Cidr& cidr) {
  return {{"prefix", {{"addr", net::to_string(cidr.network().ip)}, {"len", cidr.prefix}}}};
}

class Table {
 public:
  explicit Table(std::string name) : name_(std::move(name)) {
    const boost::json::object table{{"family", "ip"}, {"name", name_}};
    // Added first, so that deleting what is not there does not fail.
    for (const char* step : {"add", "delete", "add"}) steps_.push_back(boost::json::object{{step, {{"table", table}}}});
  }
  void chain(const char* name, const char* type, const char* hook, int priority) {
    steps_.push_back({{"add",
                       {{"chain",
                         {{"family", "ip"},
                          {"table", name_},
                          {"name", name},
                          {"type", type},
                          {"hook", hook},
                          {"prio", priority},
                          {"policy", "accept"}}}}}});
  }
  void rule(const char* chain, boost::json::array expression) {
    steps_.push_back(
        {{"add", {{"rule", {{"family", "ip"}, {"table", name_}, {"chain", chain}, {"expr", std::move(expression)}}}}}});
  }
  std::string text() const { return boost::json::serialize(boost::json::object{{"nftables", steps_}}); }

 private:
  std::string name_;
  boost::json::array steps_;
};

bool is_any(const std::string& address) { return address.empty() || address == "0.0.0.0"; }

void map_port(Table& table, const model::AllocatedPort& port, const std::string& to) {
  const auto inner = port.to > 0 ? port.to : port.value;
  const boost::json::object at =
      is_any(port.host_ip)
          ? match(boost::json::object{{"fib", {{"result", "type"}, {"flags", boost::json::array{"daddr"}}}}}, "local")
          : match(field("ip", "daddr"), boost::json::value(port.host_ip));
  for (const char* protocol : {"tcp", "udp"}) {
    const boost::json::array expression = {at, match(field(protocol, "dport"), port.value),
                                           boost::json::object{{"dnat", {{"addr", to}, {"port", inner}}}}};
    // From elsewhere, and from the host itself.
    table.rule("prerouting", expression);
    table.rule("output", expression);
  }
}

}  // namespace

std::string rules_of(const std::string& name, const std::string& bridge, const net::Cidr& network,
                     const std::map<std::string, Record>& records) {
  constexpr int kBeforeConntrack = -300, kDestination = -100, kSource = 100;
  const net::Cidr loopback{net::Ip::v4(0x7f000000), 8};
  Table table(name);
  table.chain("guard", "filter", "prerouting", kBeforeConntrack);
  table.chain("prerouting", "nat", "prerouting", kDestination);
  table.chain("output", "nat", "output", kDestination);
  table.chain("postrouting", "nat", "postrouting", kSource);
  table.rule("guard", {match(meta("iifname"), boost::json::value(bridge)),
                       match(field("ip", "daddr"), prefix(loopback)), boost::json::object{{"drop", nullptr}}});
  const boost::json::object inside = match(field("ip", "saddr"), prefix(network));
  const boost::json::object masquerade{{"masquerade", nullptr}};
  table.rule("postrouting", {inside, match(meta("oifname"), boost::json::value(bridge), "!="), masquerade});
  table.rule("postrouting", {inside, match(meta("oifname"), boost::json::value(bridge)),
                             match(boost::json::object{{"ct", {{"key", "status"}}}}, "dnat", "in"), masquerade});
  table.rule("postrouting", {match(field("ip", "saddr"), prefix(loopback)),
                             match(meta("oifname"), boost::json::value(bridge)), masquerade});
  for (const auto& [id, record] : records) {
    if (!record.bridged()) continue;
    for (const auto& port : record.ports) map_port(table, port, record.status.address);
  }
  return table.text();
}

}  // namespace underway::network
