#pragma once
/// @file
/// What is known of an allocation's network, in a file of its own that is written before the kernel knows of it.

#include <map>
#include <string>
#include <vector>

#include "base/json/describe.hpp"
#include "model/allocation.hpp"

#include <boost/json/value.hpp>

namespace underway::network {

struct Record {
  std::string allocation;
  std::string mode;
  std::vector<model::AllocatedPort> ports;
  std::map<std::string, std::string> cni_args;
  model::AllocNetworkStatus status;
  boost::json::value cni_config;  ///< as it was when the plugins were called: they are told the same at the end
  boost::json::value cni_result;
  bool ready = false;  ///< all of it stands

  bool bridged() const { return mode == "bridge"; }
  bool by_plugins() const { return mode.starts_with("cni/"); }
};

/// Blocks: yes (disk).
class Records {
 public:
  explicit Records(std::string directory);
  const std::map<std::string, Record>& all() const { return records_; }
  const Record* find(const std::string& allocation) const;
  void put(Record record);
  void remove(const std::string& allocation);
  /// Where its namespace is pinned.
  std::string pin(const std::string& allocation) const { return directory_ + "/ns/" + allocation; }
  /// Pins, whether or not there is a record.
  std::vector<std::string> pinned() const;

 private:
  std::string directory_;
  std::map<std::string, Record> records_;
};

const describe::Structure& description(describe::Tag<Record>);

}  // namespace underway::network
