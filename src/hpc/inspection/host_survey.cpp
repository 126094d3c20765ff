#include "inspection/host_survey.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"

namespace underway::inspection {

using describe::Builder;
using describe::Structure;
using describe::Tag;

bool Listener::local() const { return protocol == "unix" || address == "::1" || address.starts_with("127."); }

const Program* HostSurvey::find_program(std::string_view name) const {
  for (const auto& program : programs)
    if (program.name == name) return &program;
  for (const auto& program : programs)
    if (program.unit == name || program.unit == std::string(name) + ".service") return &program;
  return nullptr;
}

const Program* HostSurvey::find_listener(std::string_view protocol, std::int64_t port) const {
  const Program* local = nullptr;
  for (const auto& program : programs) {
    for (const auto& listener : program.listens) {
      if (listener.protocol != protocol || listener.port != port) continue;
      if (!listener.local()) return &program;
      local = &program;
    }
  }
  return local;
}

HostSurvey parse_host_survey(std::string_view text) {
  constexpr std::size_t kMost = 64U << 20;
  if (text.size() > kMost)
    throw Error(Code::too_large, "the survey of a host is too large")
        .because(fmt::format("it has {}, at most {} are read", human_bytes(text.size()), human_bytes(kMost)));
  return json::decode_text<HostSurvey>(text, "HostSurvey");
}

const Structure& description(Tag<Listener>) {
  static const Structure s = Builder<Listener>("Listener", "A socket that waits for others.")
                                 .wire<&Listener::protocol>("Protocol", "tcp, udp or unix.")
                                 .wire<&Listener::address>("Address", "Where; a path for unix.")
                                 .wire<&Listener::port>("Port", "0 for unix.")
                                 .done();
  return s;
}

const Structure& description(Tag<Need>) {
  static const Structure s = Builder<Need>("Need", "Why a program cannot do without another one.")
                                 .wire<&Need::program>("Program", "Whom it needs.")
                                 .wire<&Need::how>("How", "connection, library, unit or configuration.")
                                 .wire<&Need::detail>("Detail", "What shows it.")
                                 .done();
  return s;
}

const Structure& description(Tag<Program>) {
  static const Structure s =
      Builder<Program>("Program", "All processes of one service.")
          .wire<&Program::name>("Name", "Of the executable.")
          .wire<&Program::executable>("Executable", "Its path.")
          .wire<&Program::unit>("Unit", "Of systemd.")
          .wire<&Program::package>("Package", "That the executable is of.")
          .wire<&Program::version>("Version", "Of the package.")
          .wire<&Program::user>("User", "That it runs as.")
          .wire<&Program::command>("Command", "Of its oldest process, without secrets.")
          .wire<&Program::pids>("Pids", "Its processes.")
          .wire<&Program::listens>("Listens", "Where it waits for others.")
          .wire<&Program::needs>("Needs", "What it cannot do without on this machine.")
          .wire<&Program::open_files>("OpenFiles", "Held open for writing.")
          .wire<&Program::state_directories>("StateDirectories", "Where it keeps what must not be lost.")
          .wire<&Program::configuration>("Configuration", "Files of its package below /etc.")
          .done();
  return s;
}

const Structure& description(Tag<Interface>) {
  static const Structure s = Builder<Interface>("Interface", "A link of the machine.")
                                 .wire<&Interface::name>("Name", "As the kernel has it.")
                                 .wire<&Interface::mac>("MAC", "Its hardware address.")
                                 .wire<&Interface::addresses>("Addresses", "With their prefixes.")
                                 .done();
  return s;
}

const Structure& description(Tag<TimedJob>) {
  static const Structure s = Builder<TimedJob>("TimedJob", "Something that the machine does by the clock.")
                                 .wire<&TimedJob::source>("Source", "The file and line, or the unit.")
                                 .wire<&TimedJob::when>("When", "As written.")
                                 .wire<&TimedJob::user>("User", "That it runs as.")
                                 .wire<&TimedJob::command>("Command", "Without secrets.")
                                 .done();
  return s;
}

const Structure& description(Tag<Export>) {
  static const Structure s = Builder<Export>("Export", "A directory that others mount.")
                                 .wire<&Export::path>("Path", "On the machine.")
                                 .wire<&Export::clients>("Clients", "As written.")
                                 .wire<&Export::read_only>("ReadOnly", "For everybody.")
                                 .wire<&Export::source>("Source", "The file that says so.")
                                 .done();
  return s;
}

const Structure& description(Tag<HostSurvey>) {
  static const Structure s = Builder<HostSurvey>("HostSurvey", "What a machine says of itself.")
                                 .wire<&HostSurvey::host>("Host", "Its name.")
                                 .wire<&HostSurvey::taken_at>("TakenAt", "When.")
                                 .time()
                                 .wire<&HostSurvey::system>("System", "Its distribution.")
                                 .wire<&HostSurvey::interfaces>("Interfaces", "Links and addresses.")
                                 .wire<&HostSurvey::programs>("Programs", "By name.")
                                 .wire<&HostSurvey::timed_jobs>("TimedJobs", "cron and timers.")
                                 .wire<&HostSurvey::exports>("Exports", "Of NFS.")
                                 .wire<&HostSurvey::forwards>("Forwards", "net.ipv4.ip_forward.")
                                 .wire<&HostSurvey::nat_rules>("NatRules", "That translate addresses.")
                                 .wire<&HostSurvey::hints>("Hints", "Files that tell of a management system.")
                                 .wire<&HostSurvey::gaps>("Gaps", "What could not be read, and why.")
                                 .done();
  return s;
}

}  // namespace underway::inspection
