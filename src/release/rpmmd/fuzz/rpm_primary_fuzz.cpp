// What packages a repository has. Each element is written again, and is then the same bytes.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "rpmmd/index.hpp"
#include "rpmmd/relation.hpp"
#include "rpmmd/write.hpp"

namespace {

using namespace underway::rpmmd;

Index read(std::string text) {
  return Index::read({.primary = std::make_shared<const std::string>(std::move(text)), .filelists = {}, .other = {}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string written;
  std::vector<std::string> moved;
  try {
    const auto index = read({reinterpret_cast<const char*>(data), size});
    for (const Package& package : index.packages()) {
      static_cast<void>(parse_relations(package.primary));
      static_cast<void>(parse_file_names(package.primary));
      moved.push_back(write_at(package, "pool/p.rpm"));
    }
    written = write_document(Document::primary, index.packages());
  } catch (const underway::Error&) {
    return 0;  // Refused, as it should be.
  }
  // What this throws is a finding: we wrote it.
  if (write_document(Document::primary, read(written).packages()) != written) __builtin_trap();
  for (const auto& element : moved) {
    const auto again = read(write_elements(Document::primary, std::vector<std::string_view>{element}));
    if (again.packages().front().location != "pool/p.rpm") __builtin_trap();
  }
  return 0;
}
