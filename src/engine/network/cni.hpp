#pragma once
/// @file
/// The Container Network Interface: programs that put an interface into a network namespace.
/// Source: https://github.com/containernetworking/cni/blob/v1.0.0/SPEC.md. A plugin is run with its configuration on
/// standard input and the rest in its environment, and answers in JSON; it is given a minute.

#include <map>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "model/allocation.hpp"

namespace underway::network::cni {

/// The configuration `name` below `directory`, as a list of plugins: from *.conflist, *.conf or *.json, in the order of
/// their names. Errors: not_found, naming those that are there; invalid. Blocks: yes (disk).
boost::json::object get_configuration(const std::string& directory, const std::string& name);
/// Names of those that can be read.
std::vector<std::string> list_configurations(const std::string& directory);

struct Container {
  std::string id;
  std::string namespace_path;
  std::string interface = "eth0";
  std::map<std::string, std::string> args;  ///< CNI_ARGS
  std::vector<model::AllocatedPort> ports;  ///< for plugins that map ports
};

/// Calls each plugin of the list with the result of the one before; the last result. If one fails, what the others made
/// is taken away again. Errors: not_found (no such program in `path`), unavailable with what the plugin said, timeout.
/// Blocks: yes.
boost::json::value add(const boost::json::object& configuration, const Container& container, const std::string& path);
/// The reverse, last plugin first. All are called; the first failure is thrown at the end.
void remove(const boost::json::object& configuration, const Container& container, const boost::json::value& result,
            const std::string& path);

/// What a result says of the container's interface. Pure. Errors: invalid when it has no address.
model::AllocNetworkStatus status_of(const boost::json::value& result, const std::string& interface);

}  // namespace underway::network::cni
