// Modules. What is written is read again, as the same documents.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "rpmmd/modules.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  std::vector<rpmmd::ModuleDocument> documents;
  try {
    documents = rpmmd::parse_modules({reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {
    return 0;  // Refused, as it should be.
  }
  static_cast<void>(
      rpmmd::reduce_modules(documents, [](const std::string& artifact) { return artifact.size() % 2 == 0; }));
  const std::string written = rpmmd::write_modules(documents);
  if (rpmmd::parse_modules(written).size() != documents.size()) __builtin_trap();
  return 0;
}
