#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "host/local.hpp"
#include "traffic/live.hpp"

namespace underway::cli {
namespace {

/// Readable after SIGINT or SIGTERM, which end nothing by themselves any more.
os::Fd stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) throw errno_error(errno, "cannot block signals");
  os::Fd fd(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!fd) throw errno_error(errno, "cannot wait for signals");
  return fd;
}

/// The network namespace of a local host; with several clusters "CLUSTER/HOST" tells which.
net::Namespace namespace_of_host(const std::string& name, const std::string& state) {
  std::vector<std::string> known;
  for (const auto& host : host::read_hosts(state)) {
    const std::string full = host.cluster + "/" + host.name;
    known.push_back(full);
    if (host.name != name && full != name) continue;
    if (!os::is_running(host.init))
      throw Error(Code::unavailable, fmt::format("host '{}' does not run", name))
          .because(fmt::format("its first process ({}) is gone", host.init.pid));
    return net::Namespace::of_process(host.init.pid, fmt::format("host {}", full));
  }
  throw Error(Code::not_found, fmt::format("there is no host '{}' on this machine", name))
      .because(known.empty() ? fmt::format("'{}' knows no hosts", state) : "there are " + join(known, ", "));
}

net::Namespace find_namespace(const Arguments& arguments) {
  if (const auto host = arguments.find("host")) return namespace_of_host(*host, state_directory(arguments));
  const auto path = arguments.find("netns");
  if (!path) return net::Namespace::current();
  // As ip-netns(8) does: a name is one of /run/netns.
  return net::Namespace::open(path->find('/') == std::string::npos ? "/run/netns/" + *path : *path);
}

Duration length_of(const Arguments& arguments) {
  const auto text = arguments.find("for");
  if (!text) return Duration{0};
  const auto length = parse_duration(*text);
  if (!length || *length <= Duration{0})
    throw Error(Code::invalid, fmt::format("'{}' is no duration", *text)).advise("write 90s, 30m or 24h");
  return *length;
}

std::vector<std::string> progress_lines(const traffic::LiveOptions& options, const traffic::LiveProgress& now) {
  const std::string lost = now.lost == 0 ? "none lost" : paint(Colour::red, fmt::format("{} LOST", now.lost), 2);
  return {fmt::format("{}: {} packets ({}) in {}, {}; {} doors, {} conversations; journal {}", options.source,
                      now.packets, human_bytes(now.bytes), human_duration(now.running), lost, now.doors,
                      now.conversations, human_bytes(now.journal_bytes))};
}

int run_survey_capture(const Arguments& arguments) {
  traffic::LiveOptions options;
  const SystemClock clock;
  options.clock = &clock;
  options.capture.interface = arguments.get("iface");
  if (options.capture.interface.empty())
    throw Error(Code::invalid, "which interface?").advise("add -iface NAME; `ip link` lists them");
  options.capture.macs = arguments.all("mac");
  for (const auto& mac : options.capture.macs) {
    if (!traffic::parse_mac(mac)) throw Error(Code::invalid, fmt::format("'{}' is no MAC", mac));
  }
  options.capture.filter = arguments.get("filter");
  options.surveyed = arguments.all("server");
  options.length = length_of(arguments);
  options.source =
      arguments.has("host") ? arguments.get("host") + "/" + options.capture.interface : options.capture.interface;
  options.journal = arguments.get("o", options.capture.interface + ".journal");
  const auto space = find_namespace(arguments);
  const auto stop = stop_signals();
  options.stop_fd = stop.get();

  Progress progress;
  const bool lively = is_terminal(2);
  const auto show = [&](const traffic::LiveProgress& now) {
    if (lively) progress.draw(progress_lines(options, now));
  };
  say(fmt::format("capturing on {} into {}{}", options.source, options.journal,
                  options.length > Duration{0} ? " for " + human_duration(options.length) : ", Ctrl-C ends it"));
  const auto end = traffic::capture_live(space, options, show);
  progress.draw(progress_lines(options, end));
  progress.finish();
  say(fmt::format("`underway survey read {0}` shows it, `underway survey report {0}` divides it", options.journal));
  if (end.lost > 0)
    say(paint(
        Colour::yellow,
        "warning: packets were lost: what the survey shows is a lower bound; -mac or -filter makes it less to take",
        2));
  return kDone;
}

}  // namespace

const Command& survey_capture_command() {
  static const Command command{
      .name = "survey capture",
      .summary = "Records who opens what at the management server, from an interface, for days.",
      .details =
          "Packets are folded into flows at once; a journal on disk gets them every minute (a crash loses no more than "
          "that) and stays small. A journal that exists is continued. No packet's content is kept, but the first words "
          "of what services say to each other: the journal is readable for its owner only.\n\n"
          "It needs root, or CAP_NET_RAW. What the kernel had to drop is counted and told. Ctrl-C ends it cleanly.",
      .examples = {"underway survey capture -iface prov0 -for 24h",
                   "underway survey capture -iface prov0 -mac 02:00:00:00:00:0b -o c1.journal",
                   "underway survey capture -host mgmt -iface cluster"},
      .flags = {{"iface", "NAME", "The interface, on the management server's side of the cluster's network."},
                {"mac", "MAC", "Only packets from or to this machine.", true},
                {"filter", "TEXT", "Only packets that pass, in tcpdump's language: \"not port 22\"."},
                {"for", "DURATION", "How long; until Ctrl-C."},
                {"o", "FILE", "The journal; <interface>.journal."},
                {"server", "ADDRESS", "The surveyed machine, if it is not this one (mirror port): MACs, addresses.",
                 true},
                {"netns", "NAME", "Captures in this network namespace: a path, or a name of ip-netns(8)."},
                {"host", "[CLUSTER/]HOST", "Captures in this host of a local cluster."},
                {"state", "DIR", "Where the local agent keeps its state."}},
      .talks_to_server = false,
      .run = run_survey_capture};
  return command;
}

}  // namespace underway::cli
