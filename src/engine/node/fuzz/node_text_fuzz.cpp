// Texts of strangers that the agent itself reads: template data, environment files, paths, archive names.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "node/artifact/fetch_request.hpp"
#include "node/streams/file_access.hpp"
#include "node/task/environment.hpp"
#include "node/template/template_renderer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  using namespace underway::node;
  const std::string text(reinterpret_cast<const char*>(data), size);
  model::Node self;
  self.attributes["cpu.arch"] = "amd64";
  self.meta["rack"] = "r1";
  Interpolation interpolation(self, "global");
  interpolation.set_environment({{"NOMAD_PORT_x", "1"}});
  (void)interpolation.apply(text);
  (void)archive_kind(text);
  if (const auto plain = normalise(text);
      plain && (plain->starts_with("/") || plain->find("..") == 0) && plain->substr(0, 3) == "../")
    __builtin_trap();
  try {
    const auto place = resolve_destination(text, "main", "/d/alloc/id", {"/alloc", "/local", "/secrets"});
    if (!place.starts_with("main") && !place.starts_with("alloc")) __builtin_trap();
  } catch (const Error&) {
  }
  try {
    (void)parse_environment_file(text);
  } catch (const Error&) {
  }
  try {
    (void)render_data(text, template_context(interpolation), "fuzz");
  } catch (const Error&) {
  }
  return 0;
}
