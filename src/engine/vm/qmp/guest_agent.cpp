#include "vm/qmp/guest_agent.hpp"

#include <boost/json/serialize.hpp>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"

namespace underway::vm {
namespace {

namespace json = boost::json;

/// -1: there is none.
std::int64_t number_in(const json::value& answer, std::string_view name) {
  const auto* object = answer.if_object();
  const auto* value = object != nullptr ? object->if_contains(name) : nullptr;
  return value != nullptr && value->is_int64() ? value->get_int64() : -1;
}

}  // namespace

GuestAgent GuestAgent::connect(const std::string& directory, const std::string& name, const std::string& who,
                               Duration within) {
  const Deadline deadline(within);
  GuestAgent agent(LineSocket::connect(directory, name, who, within), who);
  // Answers to who was here before, and half a line of theirs, may still come: those before this number are theirs.
  const auto number = static_cast<std::int64_t>(std::random_device{}() >> 1);
  agent.socket_.send(
      "\n" + json::serialize(json::object{{"execute", "guest-sync"}, {"arguments", {{"id", number}}}}) + "\n",
      deadline);
  while (const auto line = agent.socket_.receive(deadline)) {
    try {
      const auto message = parse_qmp(*line);
      const auto* answer = std::get_if<QmpReturn>(&message);
      if (answer != nullptr && answer->value.is_int64() && answer->value.get_int64() == number) return agent;
    } catch (const Error&) {
      // The rest of a line that was another's.
    }
  }
  throw Error(Code::timeout, fmt::format("{} has no agent in its guest that answers", who))
      .because(fmt::format("it was waited for {}", human_duration(within)))
      .advise("install qemu-guest-agent in the guest");
}

json::value GuestAgent::ask(const std::string& command, json::object arguments, const Deadline& deadline) {
  json::object question = {{"execute", command}};
  if (!arguments.empty()) question["arguments"] = std::move(arguments);
  socket_.send(json::serialize(question) + "\n", deadline);
  while (const auto line = socket_.receive(deadline)) {
    auto message = parse_qmp(*line);
    if (auto* done = std::get_if<QmpReturn>(&message)) return std::move(done->value);
    if (const auto* failure = std::get_if<QmpFailure>(&message))
      throw Error(Code::conflict, fmt::format("the agent in the guest of {} refuses '{}'", who_, command))
          .because(fmt::format("{}: {}", failure->error_class, failure->text));
  }
  throw Error(Code::timeout, fmt::format("the agent in the guest of {} does not answer '{}'", who_, command));
}

std::string GuestAgent::boot_id(Duration within) {
  const Deadline deadline(within);
  const auto handle = ask("guest-file-open", {{"path", "/proc/sys/kernel/random/boot_id"}, {"mode", "r"}}, deadline);
  const auto read = ask("guest-file-read", {{"handle", handle}, {"count", 64}}, deadline);
  ask("guest-file-close", {{"handle", handle}}, deadline);
  return std::string(trim(base64_decode(underway::json::text_at(read, "buf-b64"))));
}

void GuestAgent::write_file(const std::string& path, std::string_view bytes, Duration within) {
  // The agent keeps a whole question in memory, in an initial file system perhaps with little of it.
  constexpr std::size_t kPart = 192U << 10;
  const Deadline deadline(within);
  const auto handle = ask("guest-file-open", {{"path", path}, {"mode", "w"}}, deadline);
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, kPart);
    const auto done = ask("guest-file-write", {{"handle", handle}, {"buf-b64", base64_encode(part)}}, deadline);
    const auto count = number_in(done, "count");
    if (count <= 0)
      throw Error(Code::exhausted, fmt::format("the agent in the guest of {} cannot write '{}'", who_, path))
          .because(fmt::format("{} bytes are left", bytes.size()));
    bytes.remove_prefix(std::min(part.size(), static_cast<std::size_t>(count)));
  }
  ask("guest-file-close", {{"handle", handle}}, deadline);
}

GuestAgent::Ran GuestAgent::run(const std::vector<std::string>& argv, std::string_view input, Duration within) {
  const Deadline deadline(within);
  json::array arguments;
  for (std::size_t i = 1; i < argv.size(); ++i) arguments.emplace_back(argv[i]);
  json::object question = {{"path", argv.at(0)}, {"arg", std::move(arguments)}, {"capture-output", true}};
  if (!input.empty()) question["input-data"] = base64_encode(input);
  const auto pid = number_in(ask("guest-exec", std::move(question), deadline), "pid");
  for (;;) {
    const auto status = ask("guest-exec-status", {{"pid", pid}}, deadline);
    const auto* object = status.if_object();
    const auto* exited = object != nullptr ? object->if_contains("exited") : nullptr;
    if (exited != nullptr && exited->is_bool() && exited->get_bool()) {
      Ran ran;
      ran.exit_code = number_in(status, "exitcode");
      ran.out = base64_decode(underway::json::text_at(status, "out-data"));
      ran.err = base64_decode(underway::json::text_at(status, "err-data"));
      return ran;
    }
    if (deadline.passed())
      throw Error(Code::timeout, fmt::format("'{}' does not end in the guest of {}", argv.at(0), who_));
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
}

bool GuestAgent::shut_down(Duration within) {
  const Deadline deadline(within);
  socket_.send(
      json::serialize(json::object{{"execute", "guest-shutdown"}, {"arguments", {{"mode", "powerdown"}}}}) + "\n",
      deadline);
  // QEMU forgets what it has not passed on yet when its peer hangs up: who says this stays until the guest has heard.
  try {
    while (socket_.receive(deadline)) {
    }
  } catch (const Error& e) {
    if (e.code() == Code::unavailable) return true;
    throw;
  }
  return false;
}

void GuestAgent::set_time(Duration within) { ask("guest-set-time", {}, Deadline(within)); }

}  // namespace underway::vm
