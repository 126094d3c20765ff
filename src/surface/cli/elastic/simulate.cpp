// A trace of jobs under a policy, without a server: what growing on demand would have meant here.
#include "elastic/simulate/simulation.hpp"

#include <fstream>
#include <iostream>

#include "base/json/json.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "elastic/policy_file.hpp"
#include "elastic/trace/generator.hpp"

namespace underway::cli {
namespace {

using elastic::SimulationSettings;
using elastic::Trace;
using elastic::TraceFormat;
using elastic::TraceProblems;

constexpr std::size_t kShownProblems = 10;
constexpr std::int64_t kUsualProcessors = 16;

TraceFormat format_of(const Arguments& arguments, std::istream& in) {
  const auto format = arguments.find("format");
  if (format == "swf") return TraceFormat::swf;
  if (format == "sacct") return TraceFormat::sacct;
  if (format)
    throw Error(Code::invalid, fmt::format("'{}' is no format of traces", *format))
        .advise("write -format swf or -format sacct");
  std::string beginning(4096, '\0');
  in.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<std::size_t>(in.gcount()));
  in.clear();
  in.seekg(0);
  if (!in)
    throw Error(Code::invalid, "the format of what comes by a pipe is not guessed")
        .advise("add -format swf or -format sacct");
  return elastic::guess_format(beginning);
}

void tell(const TraceProblems& problems, const std::string& name) {
  for (std::size_t i = 0; i < std::min(problems.lines.size(), kShownProblems); ++i)
    say(fmt::format("warning: {}: {}", name, problems.lines[i]));
  if (problems.count > kShownProblems)
    say(fmt::format("warning: {}: {} more lines that are left out", name, problems.count - kShownProblems));
}

Trace read(const std::string& name, const Arguments& arguments) {
  TraceProblems problems;
  Trace trace;
  if (name == "-") {
    trace = elastic::read_trace(std::cin, format_of(arguments, std::cin), problems);
  } else {
    std::ifstream in(name, std::ios::binary);
    if (!in) throw errno_error(errno, fmt::format("cannot open the trace '{}'", name));
    trace = elastic::read_trace(in, format_of(arguments, in), problems);
  }
  tell(problems, name);
  if (trace.jobs.empty())
    throw Error(Code::invalid, fmt::format("the trace '{}' holds no job that ran", name))
        .because(fmt::format("{} lines are wrong, {} jobs never started, {} lines are steps", problems.count,
                             trace.never_ran, trace.steps))
        .advise(
            "write one with `sacct --allusers --starttime … --parsable2 --format=JobID,User,Account,Partition,Submit,"
            "Start,End,Elapsed,Timelimit,NNodes,NCPUS,ReqMem,State`");
  say(fmt::format("{}: {} jobs, {} that never started are left out", name, trace.jobs.size(), trace.never_ran));
  return trace;
}

Trace trace_of(const Arguments& arguments) {
  const auto days = arguments.number("generate");
  if (arguments.positional().empty() != days.has_value())
    throw Error(Code::invalid, "either a trace or -generate is needed")
        .advise("name a file, '-' for standard input, or how many days are to be generated");
  if (!days) return read(arguments.positional().front(), arguments);
  elastic::TraceSettings settings;
  settings.days = *days;
  settings.seed = static_cast<std::uint64_t>(arguments.number("seed").value_or(1));
  settings.cpus_per_node = arguments.number("cpus").value_or(kUsualProcessors);
  settings.largest_nodes = std::max<std::int64_t>(arguments.number("nodes").value_or(32), 1);
  return elastic::generate_trace(settings);
}

/// Without a policy: as many nodes again as there are static ones, like them.
elastic::Policy usual_policy(const SimulationSettings& settings) {
  elastic::Policy policy;
  elastic::PoolClass type;
  type.name = "cloud";
  type.vcpus = settings.cpus_per_node;
  type.memory_mb = settings.memory_mb;
  type.max_nodes = std::max<std::int64_t>(settings.nodes, 1);
  type.cost_per_hour = settings.cost_per_hour;
  policy.classes = {type};
  return policy;
}

elastic::Policy policy_of(const Arguments& arguments, const SimulationSettings& settings) {
  const auto file = arguments.find("policy");
  if (!file) {
    say(fmt::format("no -policy: a class 'cloud' of {} nodes like the static ones",
                    std::max<std::int64_t>(settings.nodes, 1)));
    return usual_policy(settings);
  }
  hcl::Diagnostics diagnostics;
  auto policy = elastic::parse_policy(read_input(*file), *file, diagnostics);
  if (diagnostics.has_errors()) refuse(diagnostics, fmt::format("the policy '{}'", *file));
  return policy;
}

SimulationSettings settings_of(const Arguments& arguments, const Trace& trace) {
  SimulationSettings settings;
  const std::int64_t of_trace =
      trace.max_nodes > 0 && trace.max_cpus > 0 ? trace.max_cpus / trace.max_nodes : kUsualProcessors;
  settings.cpus_per_node = arguments.number("cpus").value_or(std::max<std::int64_t>(of_trace, 1));
  settings.memory_mb = arguments.number("memory").value_or(std::int64_t{1} << 20);
  settings.cost_per_hour = arguments.get("cost", "0");
  settings.seed = static_cast<std::uint64_t>(arguments.number("seed").value_or(1));
  settings.boot_failures = static_cast<double>(arguments.number("boot-failures").value_or(0)) / 100;
  settings.urgent = arguments.all("urgent");
  if (const auto nodes = arguments.number("nodes"))
    settings.nodes = *nodes;
  else if (trace.max_nodes > 0)
    settings.nodes = trace.max_nodes;
  else
    throw Error(Code::invalid, "how many static nodes there are is not known")
        .because("the trace has no MaxNodes in its header")
        .advise("add -nodes N, 0 for none");
  settings.policy = policy_of(arguments, settings);
  return settings;
}

int run_simulate(const Arguments& arguments) {
  const Trace trace = trace_of(arguments);
  const SimulationSettings settings = settings_of(arguments, trace);
  if (const auto wrong = elastic::problems(settings); !wrong.empty())
    throw Error(Code::invalid, "this cannot be simulated").because(wrong);
  const auto report = elastic::simulate(trace, settings);
  if (arguments.has("json"))
    print_json(json::to_value(report));
  else
    print(elastic::chart(report, static_cast<std::size_t>(std::max(terminal_width(), 60))));
  return kDone;
}

}  // namespace

const Command& elastic_simulate_command() {
  static const Command command{
      .name = "elastic simulate",
      .arguments = "[TRACE]",
      .summary = "Replays a trace of Slurm jobs against a policy of growing and shrinking.",
      .details =
          "Runs the same jobs through plain Slurm on the static nodes (fixed), on all nodes always on (fixed_all), "
          "through Slurm's own power saving (power_saving) and through the policy (elastic; forecast, if it has one), "
          "and "
          "says how long jobs waited, how well nodes were used, and what they cost. No server is asked, and nothing is "
          "changed. TRACE is an accounting dump of `sacct --parsable2` or a file of the Standard Workload Format; '-' "
          "is "
          "standard input. Jobs have whole nodes. The same trace, policy and seed give the same answer.",
      .examples = {"underway elastic simulate -policy elastic.hcl -nodes 64 jobs.txt",
                   "underway elastic simulate -policy elastic.hcl -nodes 16 -generate 14",
                   "zcat KTH-SP2.swf.gz | underway elastic simulate -format swf -cpus 1 -"},
      .flags = {{"policy", "FILE", "The policy, in HCL or JSON: what stands in an elastic block."},
                number_flag("nodes", "N", "Static nodes, which are always on; else the trace's MaxNodes.",
                            {0, 1'000'000}),
                number_flag("cpus", "N", "Processors of a static node; else as the trace says, or 16.", {1, 100'000}),
                number_flag("memory", "MIB", "Memory of a static node; else as much as any job asks for.", {1}),
                {"cost", "PRICE", "Of a static node for an hour, as 0.35; else nothing."},
                {"format", "FORMAT", "swf or sacct; else by the first line."},
                {"urgent", "PARTITION", "Its jobs do not wait: others sleep for them. May be repeated.", true},
                number_flag("boot-failures", "PERCENT", "So many of a hundred boots fail.", {0, 100}),
                number_flag("generate", "DAYS", "Makes a trace of so many days instead of reading one.", {1, 3660}),
                number_flag("seed", "N", "Of what is left to chance; else 1.", {0}),
                {"json", "", "As JSON."}},
      .most = 1,
      .talks_to_server = false,
      .run = run_simulate};
  return command;
}

}  // namespace underway::cli
