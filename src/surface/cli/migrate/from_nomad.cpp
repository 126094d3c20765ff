#include <cstdlib>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/migrate/text.hpp"
#include "cli/terminal.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

constexpr std::size_t kLargestAnswer = 64U << 20;
constexpr std::size_t kLargestToken = 4096;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Of the Nomad: its flags, or what its own command line would take.
sdk::Address source_address(const Arguments& arguments) {
  sdk::Address address;
  address.url = arguments.get("nomad-addr", environment("NOMAD_ADDR"));
  if (address.url.empty())
    throw Error(Code::invalid, "which Nomad?").advise("name it with -nomad-addr http://HOST:4646, or NOMAD_ADDR");
  address.token = environment("NOMAD_TOKEN");
  if (const auto file = arguments.find("nomad-token-file")) address.token = trim(os::read_file(*file, kLargestToken));
  address.tls.files.authority = arguments.get("nomad-ca-cert", environment("NOMAD_CACERT"));
  address.tls.files.certificate = arguments.get("nomad-client-cert", environment("NOMAD_CLIENT_CERT"));
  address.tls.files.key = arguments.get("nomad-client-key", environment("NOMAD_CLIENT_KEY"));
  address.tls.server_name = arguments.get("nomad-tls-server-name", environment("NOMAD_TLS_SERVER_NAME"));
  return address;
}

/// Ours. NOMAD_ADDR and its like mean the other one here, which other commands would take for us.
sdk::Client own_client(const Arguments& arguments) {
  for (const auto* name : {"NOMAD_ADDR", "NOMAD_TOKEN", "NOMAD_NAMESPACE", "NOMAD_REGION", "NOMAD_CACERT",
                           "NOMAD_CLIENT_CERT", "NOMAD_CLIENT_KEY", "NOMAD_TLS_SERVER_NAME", "NOMAD_SKIP_VERIFY"})
    ::unsetenv(name);
  return make_client(arguments);
}

migrate::Selection selection_of(const Arguments& arguments) {
  migrate::Selection selection;
  for (const auto& ns : arguments.all("namespace")) selection.namespaces.push_back(ns);
  selection.jobs = arguments.all("job");
  selection.only_jobs = !selection.jobs.empty();
  selection.counts_allocations = arguments.has("start");
  selection.tokens = true;
  return selection;
}

Duration timeout_of(const Arguments& arguments) {
  const std::string text = arguments.get("timeout", "10m");
  const auto timeout = parse_duration(text);
  if (!timeout || *timeout <= Duration{0})
    throw Error(Code::invalid, fmt::format("-timeout '{}' is no duration, as 10m", text));
  return *timeout;
}

void write_directory(const migrate::Inventory& inventory, const Arguments& arguments, const std::string& directory) {
  const auto files =
      migrate::make_files(inventory, {.with_secrets = arguments.has("with-secrets"), .for_nomad = false});
  migrate::write_files(files, directory);
  say(fmt::format("{} files are in '{}'; README.md tells what is missing\n", files.files.size(), directory));
}

/// `as_json`: the plan has standard output for itself.
int carry_out(const migrate::Plan& plan, const migrate::Send& send, bool as_json) {
  const auto tell = [&](const std::string& text) { as_json ? say(trim(text)) : print(text); };
  const auto outcome = migrate::carry_out(plan, send, [&](const migrate::Step& step, const std::string& refusal) {
    if (refusal.empty()) return tell("done: " + step_text(step));
    tell(paint(Colour::red, "refused: ") + step_text(step) + "    " + refusal + "\n");
  });
  tell(fmt::format("\n{} done, {} refused\n", outcome.done, outcome.refused));
  if (!outcome.broke.empty()) {
    say(Error(Code::unavailable, fmt::format("{} more were not reached", outcome.not_reached))
            .because(outcome.broke)
            .advise("run the same command again: it goes on where this one ended")
            .text());
  }
  return outcome.refused == 0 && outcome.broke.empty() && !plan.troubles() ? kDone : kFailed;
}

int run_migrate_from_nomad(const Arguments& arguments) {
  if (arguments.has("start") && arguments.all("job").empty())
    throw Error(Code::invalid, "-start needs -job: it says which jobs shall run here");
  const auto limit = timeout_of(arguments);
  http::ClientOptions options;
  options.body_limit = kLargestAnswer;
  sdk::Client nomad(source_address(arguments), options);
  auto client = own_client(arguments);
  if (nomad.address().url == client.address().url)
    throw Error(Code::invalid, fmt::format("{} would be both the Nomad and this Underway", client.address().url))
        .advise("name ours with -address or UNDERWAY_ADDR");

  auto selection = selection_of(arguments);
  const auto source = migrate::read_inventory(sender(nomad, limit), selection);
  if (const auto directory = arguments.find("out")) write_directory(source, arguments, *directory);
  selection.counts_allocations = false;
  selection.beside = &source;
  const auto send = sender(client, limit);
  const auto there = migrate::read_inventory(send, selection);
  migrate::PlanOptions plan_options;
  if (arguments.has("start")) plan_options.start = arguments.all("job");
  auto plan = migrate::make_plan(source, there, plan_options);
  migrate::ask_about_jobs(plan, there, send);

  if (arguments.has("json"))
    print_json(migrate::to_json(plan));
  else
    print(plan_text(plan));
  if (arguments.has("apply")) return carry_out(plan, send, arguments.has("json"));
  if (plan.changes() && !arguments.has("json"))
    say("\nNothing was changed. -apply does it; jobs are registered stopped, and -job ID -start has one run.\n");
  return plan.changes() || plan.troubles() ? kFailed : kDone;
}

}  // namespace

const Command& migrate_from_nomad_command() {
  static const Command command{
      .name = "migrate from-nomad",
      .summary = "Plans, and with -apply takes over, what a running Nomad holds.",
      .details =
          "Reads the Nomad's jobs, variables, namespaces, node pools, quotas, policies, roles, auth methods, binding "
          "rules and scheduler configuration through its API, and compares them with what is here. Nothing is ever "
          "written there. `+` would be made here, `~` changed, `>` started, and `!` needs you, with the reason; what "
          "is equal is counted.\n\n"
          "With -apply jobs are registered stopped: a service must not run twice. When one is stopped on the Nomad, "
          "-job ID -start -apply has it run here; while anything of it runs there, it is not started. A job that runs "
          "here already is never changed. Interrupted at any point, the same command goes on.\n\n"
          "-namespace takes namespaces of the Nomad, with `*`. Exits 0 when there is nothing to do (with -apply: when "
          "all was done), 1 when something would change, was refused, or needs you, and 255 on an error.",
      .examples = {"NOMAD_TOKEN=… underway migrate from-nomad -nomad-addr https://nomad:4646 -nomad-ca-cert ca.pem",
                   "underway migrate from-nomad -nomad-addr http://nomad:4646 -apply",
                   "underway migrate from-nomad -nomad-addr http://nomad:4646 -job slurmctld -start -apply"},
      .flags = {{"nomad-addr", "URL", "The Nomad; also NOMAD_ADDR, which here never means this Underway."},
                {"nomad-token-file", "FILE", "Holds its token, of management to read everything; also NOMAD_TOKEN."},
                {"nomad-ca-cert", "FILE", "Whose certificates are good there; also NOMAD_CACERT."},
                {"nomad-client-cert", "FILE", "A certificate to show there; also NOMAD_CLIENT_CERT."},
                {"nomad-client-key", "FILE", "Its key; also NOMAD_CLIENT_KEY."},
                {"nomad-tls-server-name", "NAME", "The name in its certificate; also NOMAD_TLS_SERVER_NAME."},
                {"job", "ID", "Only these jobs, with `*`, and their namespaces.", true},
                {"start", "", "Those of -job run here, if they are stopped there."},
                {"apply", "", "Carries the plan out."},
                {"out", "DIR", "Writes what was read as files, too; DIR must be new."},
                {"with-secrets", "", "In DIR, variables too, readable by their owner only."},
                {"timeout", "DURATION", "For each of the two servers, altogether; 10m."},
                {"json", "", "The plan as JSON, without secrets."}},
      .run = run_migrate_from_nomad};
  return command;
}

}  // namespace underway::cli
