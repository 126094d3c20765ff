#pragma once
/// @file
/// Reads a described struct from JSON that was HCL blocks (hcl::decode_any): a block is a list of objects, a labelled
/// one {label: [{…}]} in such a list. Where the codec of the wire stops at the first fault and passes over unknown
/// keys, a job file's author is told all of it at once.

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::driver {

class BlockReader {
 public:
  /// Fills `object`, a value of `structure`; what `json` does not say stays as it is. `path` names it in problems.
  void read(const boost::json::value& json, const describe::Structure& structure, void* object,
            const std::string& path);
  const std::vector<std::string>& problems() const { return problems_; }

  struct Block {
    std::string label;
    boost::json::object body;
  };
  /// The blocks of a key with a label, in their order; what is none of the shape is left out.
  static std::vector<Block> labelled(const boost::json::value& json);

 private:
  void read_field(const boost::json::value& json, const describe::Field& field, void* target, const std::string& path);
  void read_blocks(const boost::json::value& json, const describe::Type& type, void* target, const std::string& path);
  void read_value(const boost::json::value& json, const describe::Type& type, void* target, const std::string& path);
  void say(const std::string& path, std::string what);

  std::vector<std::string> problems_;
};

}  // namespace underway::driver
