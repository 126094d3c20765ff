// Declarations of synchronised files: what is accepted is sound, and names no path that leads elsewhere.
#include <cstddef>
#include <cstdint>

#include "jobspec/cluster_file.hpp"

using namespace underway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::vector<jobspec::SourceFile> files = {
      {"cluster.hcl", "cluster \"c\" {\n  network \"n\" {\n    cidr = \"10.0.0.0/24\"\n  }\n  pool \"p\" {}\n}\n"},
      {"a.files.hcl", text}};
  const auto result = jobspec::load_directory(files, "/nonexistent", {});
  if (!result.directory) return 0;
  if (!model::problems(result.directory->files).empty()) __builtin_trap();
  for (const auto& file : result.directory->files) {
    if (!model::problems(file).empty()) __builtin_trap();
    if (file.type != model::FileType::part && file.where().find("/../") != std::string::npos) __builtin_trap();
  }
  return 0;
}
