// A Nomad that answers anything: what is read of it is planned and written, or refused.
#include "base/error.hpp"
#include "base/text.hpp"
#include "migrate/files.hpp"
#include "migrate/plan.hpp"

/// Pieces of the input, parted by line ends, are the answers in turn; then there is nothing.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  const auto pieces = split(std::string_view(reinterpret_cast<const char*>(data), size), '\n');
  std::size_t next = 0;
  const migrate::Send send = [&](const std::string&, const std::string&, const std::string&) {
    return next < pieces.size() ? migrate::Reply{200, pieces[next++], ""} : migrate::Reply{404, "", ""};
  };
  try {
    const auto inventory = migrate::read_inventory(send, {});
    migrate::make_plan(inventory, {}, {});
    for (const auto& file : migrate::make_files(inventory, {}).files) {
      if (file.path.empty() || file.path.front() == '/' || file.path.find("/.") != std::string::npos) __builtin_trap();
    }
  } catch (const Error&) {  // an answer that is none
  }
  return 0;
}
