// Queries come from whoever may look at a release, and run on the server.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "package/query.hpp"

namespace {

using namespace underway;

const package::PackageList& some_packages() {
  static const auto list = [] {
    const auto deb = package::PackageList::of_packages_index(std::make_shared<const std::string>(
        "Package: nginx\nVersion: 1:1.2-1\nArchitecture: amd64\nSection: main/httpd\nProvides: httpd, www (= 2)\n"
        "Filename: pool/n.deb\nSize: 1\nSHA256: 0000000000000000000000000000000000000000000000000000000000000000\n"
        "Description: web\n server\n"));
    const auto text = std::make_shared<const std::string>(
        "<package><summary>s</summary><format><rpm:provides><rpm:entry "
        "name=\"Nm\"/></rpm:provides></format></package>");
    package::Package rpm;
    rpm.format = package::Format::rpm;
    rpm.name = "Nm";
    rpm.version = "0:1-1";
    rpm.architecture = "noarch";
    rpm.file = "Nm.rpm";
    rpm.description = *text;
    const package::PackageList both[] = {deb, package::PackageList::of({rpm}, {text})};
    return package::PackageList::merge(both);
  }();
  return list;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto query = package::parse_query(text);
    const auto found = package::select(some_packages(), query);
    // What is not selected is selected by the opposite.
    const std::string opposite = "!(" + std::string(text) + ")";
    if (text.size() + 3 <= package::kMaxQuery) {
      const auto others = package::select(some_packages(), package::parse_query(opposite));
      if (found.size() + others.size() != some_packages().size()) __builtin_trap();
    }
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}
