#pragma once
/// @file
/// Metadata of a node that people change while its agent runs. It is kept in <data_dir>/node/meta.json, and counts over
/// what the configuration says.

#include "protocol/client_messages.hpp"

namespace underway::node {

class DynamicMeta {
 public:
  using Changes = std::map<std::string, std::optional<std::string>>;
  static constexpr std::size_t kMostKeys = 1000;
  static constexpr std::size_t kLongestValue = 16 << 10;  ///< bytes, of a key or value

  /// Reads what an earlier agent kept. Throws what keeps it from being read.
  void open(const std::string& data_dir, model::StringMap fixed);
  const protocol::NodeMetadata& now() const { return now_; }

  /// What is to be kept once `request` is followed. Throws invalid, naming a key that cannot be.
  Changes next(const protocol::MetadataRequest& request) const;
  /// Makes it durable. Blocks: yes.
  void write(const Changes& changes) const;
  /// What was written counts.
  void set(Changes changes);

 private:
  std::string path_;
  protocol::NodeMetadata now_;
};

}  // namespace underway::node
