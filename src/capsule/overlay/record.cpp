#include "overlay/detail/record.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "os/file.hpp"

namespace underway::overlay {

const describe::Structure& description(describe::Tag<Record>) {
  static const auto kStructure = describe::Builder<Record>("Overlay", "What an overlay is and where it lies.")
                                     .wire<&Record::version>("Version", "Of this form.")
                                     .wire<&Record::kind>("Kind", "How the layer is kept.")
                                     .wire<&Record::size_bytes>("SizeBytes", "Of each file.")
                                     .wire<&Record::paths>("Paths", "Directories that were asked for.")
                                     .wire<&Record::files>("Files", "Files that hold the file system.")
                                     .wire<&Record::complete>("Complete", "Whether the file systems are made.")
                                     .wire<&Record::stale>("Stale", "The file of raid1 that was lost, counted from 0.")
                                     .done();
  return kStructure;
}

std::string record_path(const std::string& dir) { return dir + "/overlay.json"; }

std::optional<Record> find_record(const std::string& dir) {
  const auto text = os::find_file(record_path(dir), 1U << 20);
  if (!text) return std::nullopt;
  try {
    auto record = json::decode_text<Record>(*text);
    const std::size_t files = record.kind == Kind::directory ? 0 : record.kind == Kind::raid1 ? 2 : 1;
    if (record.version != 1) throw Error(Code::unsupported, fmt::format("version {} is not known", record.version));
    if (record.files.size() != files || record.size_bytes < 0)
      throw Error(Code::invalid, "its files do not fit its kind");
    return record;
  } catch (Error& e) {
    e.while_doing(fmt::format("reading '{}'", record_path(dir)));
    throw;
  }
}

void write_record(const std::string& dir, const Record& record) {
  os::write_file(record_path(dir), json::pretty(json::to_value(record)) + "\n", 0600);
}

}  // namespace underway::overlay
