// Whatever the rules say: they are read or refused with a reason, and what they grant can be asked.
#include <cstdlib>

#include "acl/rights.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  hcl::Diagnostics diagnostics;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto policy = std::make_shared<const acl::Policy>(acl::parse_policy(text, "fuzz", diagnostics));
  if (diagnostics.has_errors()) {
    if (diagnostics.render().empty()) std::abort();
    return 0;
  }
  if (policy->empty()) std::abort();
  const std::shared_ptr<const acl::Policy> twice[] = {policy, policy};
  const acl::Rights once(std::span(twice).first(1)), both(twice);
  for (const char* ns : {"default", "web-1", "*"}) {
    for (std::size_t i = 0; i < acl::kCapabilities; ++i) {
      const auto capability = static_cast<acl::Capability>(i);
      if (once.in(ns, capability) != both.in(ns, capability)) std::abort();
      if (once.in(ns, capability) && !once.any()) std::abort();
    }
    if (once.variable("a/b", ns, acl::Access::read) != both.variable("a/b", ns, acl::Access::read)) std::abort();
  }
  return 0;
}
