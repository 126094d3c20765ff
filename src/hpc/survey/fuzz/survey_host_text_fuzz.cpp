// What a machine's /proc, units, crontabs and exports say, and a survey that somebody sends: read or refused, and what
// is read can be written and read again.
#include <cstdlib>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/redact.hpp"
#include "survey/detail/configured_needs.hpp"
#include "survey/detail/ganesha_exports.hpp"
#include "survey/detail/proc_text.hpp"
#include "survey/detail/processes.hpp"
#include "survey/detail/site_files.hpp"
#include "survey/detail/unit_files.hpp"
#include "survey/service_book.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  using namespace underway::survey;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& socket : survey::detail::parse_inet_sockets(text))
    if (socket.local.empty() || socket.local_port < 0 || socket.local_port > 65535) std::abort();
  survey::detail::parse_unix_sockets(text);
  survey::detail::parse_status(text);
  survey::detail::unit_of_cgroup(text);
  survey::detail::libraries_of_maps(text);
  redact_command(survey::detail::parse_command_line(text));
  survey::detail::socket_inode(text);
  survey::detail::opened_for_writing(text);
  survey::detail::users_of(text);
  survey::detail::Unit unit{.name = "fuzz.timer"};
  survey::detail::read_unit(text, unit);
  survey::detail::parse_crontab(text, "fuzz", true);
  for (const auto& each : survey::detail::parse_exports(text, "fuzz"))
    if (each.path.empty() || each.path.front() != '/') std::abort();
  for (const auto& each : survey::detail::parse_ganesha(text, "fuzz").exports)
    if (each.path.empty() || each.path.front() != '/') std::abort();
  survey::detail::nat_lines(text);
  survey::detail::enables_forwarding(text);
  survey::detail::slurm_setting(text, "AuthType");
  ServiceBook(text).name_of_door("tcp/22");
  try {
    const auto survey = parse_host_survey(text);
    if (!describe::equal(parse_host_survey(json::encode(survey)), survey)) std::abort();
  } catch (const Error& e) {
    if (e.message().empty()) std::abort();
  }
  return 0;
}
