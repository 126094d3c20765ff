#include "harness/examples.hpp"
#include "harness/places.hpp"

#include <filesystem>

namespace underway::harness {
namespace {

namespace fs = std::filesystem;

/// What images/build makes.
bool is_built(const fs::path& name) {
  return name.extension() == ".capsule" || name.extension() == ".new" || name.stem() == "capsules";
}

}  // namespace

void copy_examples(const std::string& to, const std::string& source) {
  const fs::path from = source.empty() ? source_dir() + "/examples" : source;
  fs::create_directories(to);
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const auto here = to / entry.path().lexically_relative(from);
    if (entry.is_directory())
      fs::create_directories(here);
    else if (!is_built(entry.path().filename()))
      fs::copy(entry.path(), here);
  }
}

}  // namespace underway::harness
