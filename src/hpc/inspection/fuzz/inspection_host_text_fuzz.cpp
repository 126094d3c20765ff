// What a machine's /proc, units, crontabs and exports say, and a survey that somebody sends: read or refused, and what
// is read can be written and read again.
#include <cstdlib>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/redact.hpp"
#include "inspection/detail/configured_needs.hpp"
#include "inspection/detail/ganesha_exports.hpp"
#include "inspection/detail/proc_text.hpp"
#include "inspection/detail/processes.hpp"
#include "inspection/detail/site_files.hpp"
#include "inspection/detail/unit_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  using namespace underway::inspection;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& socket : inspection::detail::parse_inet_sockets(text))
    if (socket.local.empty() || socket.local_port < 0 || socket.local_port > 65535) std::abort();
  inspection::detail::parse_unix_sockets(text);
  inspection::detail::parse_status(text);
  inspection::detail::unit_of_cgroup(text);
  inspection::detail::libraries_of_maps(text);
  redact_command(inspection::detail::parse_command_line(text));
  inspection::detail::socket_inode(text);
  inspection::detail::opened_for_writing(text);
  inspection::detail::users_of(text);
  inspection::detail::Unit unit{.name = "fuzz.timer"};
  inspection::detail::read_unit(text, unit);
  inspection::detail::parse_crontab(text, "fuzz", true);
  for (const auto& each : inspection::detail::parse_exports(text, "fuzz"))
    if (each.path.empty() || each.path.front() != '/') std::abort();
  for (const auto& each : inspection::detail::parse_ganesha(text, "fuzz").exports)
    if (each.path.empty() || each.path.front() != '/') std::abort();
  inspection::detail::nat_lines(text);
  inspection::detail::enables_forwarding(text);
  inspection::detail::slurm_setting(text, "AuthType");
  try {
    const auto survey = parse_host_survey(text);
    if (!describe::equal(parse_host_survey(json::encode(survey)), survey)) std::abort();
  } catch (const Error& e) {
    if (e.message().empty()) std::abort();
  }
  return 0;
}
