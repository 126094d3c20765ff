// References, manifests, configurations, challenges and files of credentials come from others. The first byte chooses
// which.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "oci/config.hpp"
#include "oci/document.hpp"
#include "oci/registry/challenge.hpp"
#include "oci/registry/credentials.hpp"
#include "oci/registry/reference.hpp"

namespace {

using namespace underway;

void read_reference(const std::string& text) {
  const auto reference = oci::parse_reference(text);
  if (oci::parse_reference(reference.text()) != reference) __builtin_trap();
  if (reference.repository.find("..") != std::string::npos) __builtin_trap();
}

void read_document(const std::string& text) {
  const auto document = oci::parse_document(text);
  for (const auto& layer : document.layers)
    if (oci::blob_path(layer).size() != 77 || layer.size < 0) __builtin_trap();
  if (document.is_index()) oci::choose_platform(document, {"amd64", "linux", ""});
}

void read_config(const std::string& text) {
  const auto config = oci::parse_config(text);
  if (!config.working_dir.empty() && config.working_dir.front() != '/') __builtin_trap();
  for (const auto& variable : config.env)
    if (variable.find('=') == std::string::npos || variable.find('\0') != std::string::npos) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] == 'r') read_reference(text);
    if (data[0] == 'm') read_document(text);
    if (data[0] == 'c') read_config(text);
    if (data[0] == 'w') oci::parse_challenges(text);
    if (data[0] == 'a') oci::parse_auth_file(text, oci::parse_reference("quay.io/a/b"), "fuzz");
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}
