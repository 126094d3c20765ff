// What slurmctld starts as ResumeProgram, SuspendProgram and ResumeFailProgram.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/slurm/delivery.hpp"
#include "cli/terminal.hpp"
#include "os/file.hpp"
#include "slurm/hostlist.hpp"

namespace underway::cli {
namespace {

/// Below the time after which Slurm takes a node for powered down (SuspendTimeout=30), and well below that for a boot.
constexpr std::int64_t kPatienceOfProgram = 20;

using SlurmWord = model::SlurmAnswer (sdk::Client::*)(const std::string&, const model::SlurmAsk&, Duration);

std::string given_by_slurmctld(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// slurmctld up to 22.05 closes all files before it starts a program: what is opened next would be standard output.
void keep_standard_files() {
  for (int raw = ::open("/dev/null", O_RDWR | O_CLOEXEC); raw >= 0; raw = ::open("/dev/null", O_RDWR | O_CLOEXEC)) {
    if (raw <= 2) continue;
    ::close(raw);
    return;
  }
}

os::Fd open_secrets(const std::string& task) {
  try {
    return os::open_directory(task + "/secrets");
  } catch (Error& error) {
    error.advise("SlurmUser has to be who slurmctld's task runs as: write user = \"slurm\" into it");
    throw;
  }
}

/// The address and the token that the task has of which slurmctld is started. `secrets` stays open as long as it is
/// used: the path of a socket has 107 bytes at most, and that of a task may be longer.
sdk::Address address_of_task(const std::string& task, const os::Fd& secrets) {
  auto address = sdk::address_from_environment({});
  address.url = fmt::format("unix:///proc/self/fd/{}/api.sock", secrets.get());
  const auto token = os::find_file(fmt::format("/proc/self/fd/{}/nomad_token", secrets.get()), 64U << 10);
  if (!token)
    throw Error(Code::not_found, fmt::format("the task in '{}' has no identity", task))
        .because("there is no secrets/nomad_token, by which it shows the API who it is")
        .advise("write identity { file = true } into the task `slurmctld`");
  address.token = trim(*token);
  return address;
}

model::SlurmAnswer say_it(const Arguments& arguments, const model::SlurmAsk& ask, SlurmWord say, Duration left) {
  const auto cluster = arguments.get("cluster");
  const bool told = arguments.has("address") || !given_by_slurmctld("UNDERWAY_ADDR").empty();
  const auto task = arguments.find("task").value_or(task_of_configuration(given_by_slurmctld("SLURM_CONF")));
  if (told || task.empty()) {
    auto client = make_client(arguments);
    return (client.*say)(cluster, ask, left);
  }
  // Anew for each attempt: the token is renewed while the task runs.
  const auto secrets = open_secrets(task);
  sdk::Client client(address_of_task(task, secrets));
  return (client.*say)(cluster, ask, left);
}

std::string answer_text(const model::SlurmAnswer& answer) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, const std::vector<std::string>& hosts) {
    if (!hosts.empty()) parts.push_back(fmt::format("{}: {}", what, slurm::fold_hosts(hosts)));
  };
  add("asked for", answer.asked_for);
  add("given back", answer.given_back);
  add("left alone", answer.left_alone);
  return join(parts, "; ") + "\n";
}

int say_until_heard(const Arguments& arguments, const model::SlurmAsk& ask, SlurmWord say) {
  if (!arguments.has("cluster"))
    throw Error(Code::invalid, "it is not clear whose Slurm asks").advise("add -cluster NAME");
  const Duration patience = std::chrono::seconds(arguments.number("patience").value_or(kPatienceOfProgram));
  const Waiting waiting{.now = &current_time, .pause = [](Duration span) { std::this_thread::sleep_for(span); }};
  const auto answer = deliver([&](Duration left) { return say_it(arguments, ask, say, left); }, patience, waiting);
  print(answer_text(answer));
  return kDone;
}

int say_resume(const Arguments& arguments) {
  keep_standard_files();
  // First of all: slurmctld removes it after 10 s.
  const auto request =
      slurm::read_resume_request(given_by_slurmctld("SLURM_RESUME_FILE"), arguments.positional().front());
  return say_until_heard(arguments, ask_of(request), &sdk::Client::slurm_resume);
}

int say_suspend(const Arguments& arguments) {
  keep_standard_files();
  return say_until_heard(arguments, ask_of(slurm::resume_words(arguments.positional().front())),
                         &sdk::Client::slurm_suspend);
}

int say_resume_fail(const Arguments& arguments) {
  keep_standard_files();
  return say_until_heard(arguments, ask_of(slurm::resume_words(arguments.positional().front())),
                         &sdk::Client::slurm_resume_fail);
}

std::vector<Flag> program_flags() {
  return {{"cluster", "NAME", "The cluster whose Slurm it is; it has to be given."},
          {"task", "DIR", "The directory of the task slurmctld; else as SLURM_CONF lies in it."},
          number_flag("patience", "SECONDS", "How long a server that does not answer is tried; 20.", {1, 3600})};
}

}  // namespace

const Command& slurm_resume_command() {
  static const Command command{
      .name = "slurm resume",
      .arguments = "HOSTLIST",
      .summary = "Slurm's ResumeProgram: has hosts made of a pool that Slurm asks for itself.",
      .details =
          "slurmctld starts it as SlurmUser, with the nodes in Slurm's form (c[3-5]) and, from 21.08 on, with the file "
          "of SLURM_RESUME_FILE, which tells the jobs that wait; both of its dialects are read. The hosts belong to "
          "pools with elastic { asked_by = \"slurm\" }; others are left alone.\n\n"
          "The API is that of the task which runs slurmctld (its secrets/api.sock, and its identity in "
          "secrets/nomad_token), found by SLURM_CONF, unless -address or UNDERWAY_ADDR say otherwise. A server that "
          "does not answer is tried for 20 seconds; then the exit code is 3, and the reason on standard error. Slurm "
          "does not say it again, but the server sees by itself which nodes Slurm waits for once it is back.",
      .examples = {"underway slurm resume -cluster hpc 'c[3-5]'"},
      .flags = program_flags(),
      .least = 1,
      .most = 2,
      .run = say_resume};
  return command;
}

const Command& slurm_suspend_command() {
  static const Command command{
      .name = "slurm suspend",
      .arguments = "HOSTLIST",
      .summary = "Slurm's SuspendProgram: has hosts go of a pool that Slurm asks for itself.",
      .details =
          "As `slurm resume`. A host goes once Slurm has its node powered down: one on which a job is again by then "
          "stays, and so does one that is always there.",
      .examples = {"underway slurm suspend -cluster hpc 'c[3-5]'"},
      .flags = program_flags(),
      .least = 1,
      .most = 1,
      .run = say_suspend};
  return command;
}

const Command& slurm_resume_fail_command() {
  static const Command command{
      .name = "slurm resume-fail",
      .arguments = "HOSTLIST",
      .summary = "Slurm's ResumeFailProgram: has hosts go that did not come within ResumeTimeout.",
      .details = "As `slurm suspend`. Their nodes are down then; they are powered down, and may be asked for again.",
      .examples = {"underway slurm resume-fail -cluster hpc 'c[3-5]'"},
      .flags = program_flags(),
      .least = 1,
      .most = 1,
      .run = say_resume_fail};
  return command;
}

}  // namespace underway::cli
