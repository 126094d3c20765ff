// Whatever the file of overrides says: it is read, or refused with a reason. And whatever /etc/services says.
#include <cstdlib>

#include "adoption/division/overrides.hpp"
#include "adoption/division/service_catalog.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  const std::string text(reinterpret_cast<const char*>(data), size);
  adoption::ServiceCatalog(text).name_of_door("tcp/22");
  hcl::Diagnostics diagnostics;
  const auto overrides = adoption::parse_overrides(text, "fuzz", diagnostics);
  if (diagnostics.has_errors() && diagnostics.render().empty()) std::abort();
  for (const auto& service : overrides.services)
    if (overrides.find(service.name) == nullptr) std::abort();
  return 0;
}
