// Whatever the file of overrides says: it is read, or refused with a reason.
#include <cstdlib>

#include "survey/overrides.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  hcl::Diagnostics diagnostics;
  const auto overrides =
      survey::parse_overrides(std::string(reinterpret_cast<const char*>(data), size), "fuzz", diagnostics);
  if (diagnostics.has_errors() && diagnostics.render().empty()) std::abort();
  for (const auto& service : overrides.services)
    if (overrides.find(service.name) == nullptr) std::abort();
  return 0;
}
