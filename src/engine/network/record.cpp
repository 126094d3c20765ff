#include "network/detail/record.hpp"
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "os/file.hpp"

namespace underway::network {

Records::Records(std::string directory) : directory_(std::move(directory)) {
  os::make_directories(directory_ + "/ns", 0700);
  os::make_directories(directory_ + "/records", 0700);
  for (const auto& entry : os::list_directory(directory_ + "/records")) {
    if (!entry.name.ends_with(".json")) continue;  // half written
    const std::string path = directory_ + "/records/" + entry.name;
    try {
      auto record = json::decode_text<Record>(os::read_file(path), "record");
      records_.insert_or_assign(record.allocation, std::move(record));
    } catch (const Error& error) {
      log::warn("network: '{}' cannot be read and is left alone: {}", path, error.one_line());
    }
  }
}

const Record* Records::find(const std::string& allocation) const {
  const auto it = records_.find(allocation);
  return it == records_.end() ? nullptr : &it->second;
}

void Records::put(Record record) {
  os::write_file(directory_ + "/records/" + record.allocation + ".json", json::encode(record, json::Encoding::compact),
                 0600, {}, os::Durability::cached);
  const std::string allocation = record.allocation;
  records_.insert_or_assign(allocation, std::move(record));
}

void Records::remove(const std::string& allocation) {
  os::remove_tree(directory_ + "/records/" + allocation + ".json");
  records_.erase(allocation);
}

std::vector<std::string> Records::pinned() const {
  std::vector<std::string> names;
  for (const auto& entry : os::list_directory(directory_ + "/ns")) names.push_back(entry.name);
  return names;
}

const describe::Structure& description(describe::Tag<Record>) {
  static const describe::Structure s =
      describe::Builder<Record>("network record", "The network of an allocation.")
          .wire<&Record::allocation>("Allocation", "ID of the allocation.")
          .wire<&Record::mode>("Mode", "Of its group's network: `bridge`, or `cni/` and a network's name.")
          .wire<&Record::ports>("Ports", "Ports of the node that lead into it.")
          .wire<&Record::cni_args>("CNIArgs", "Arguments for the CNI plugins, by name.")
          .wire<&Record::status>("Status", "Where the allocation is reached.")
          .wire<&Record::cni_config>(
              "CNIConfig", "The network's configuration as the CNI plugins were called with it; null: they were not.")
          .wire<&Record::cni_result>("CNIResult", "What the CNI plugins answered; null: nothing.")
          .wire<&Record::ready>("Ready", "Whether all of it stands; else it was being made.")
          .done();
  return s;
}

}  // namespace underway::network
