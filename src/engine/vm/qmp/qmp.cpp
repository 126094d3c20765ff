#include "vm/qmp/qmp.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/error.hpp"

namespace underway::vm {
namespace {

namespace json = boost::json;

Code code_of(const std::string& error_class) {
  if (error_class == "CommandNotFound") return Code::unsupported;
  if (error_class == "DeviceNotFound") return Code::not_found;
  return Code::conflict;
}

}  // namespace

Qmp Qmp::connect(const std::string& directory, const std::string& name, const std::string& who, Duration within) {
  const Deadline deadline(within);
  auto socket = LineSocket::connect(directory, name, who, within);
  return Qmp(std::move(socket), who, deadline.left());
}

Qmp::Qmp(os::Fd socket, const std::string& who, Duration within)
    : Qmp(LineSocket(std::move(socket), who), who, within) {}

Qmp::Qmp(LineSocket socket, std::string who, Duration within) : socket_(std::move(socket)), who_(std::move(who)) {
  greet(within);
}

void Qmp::greet(Duration within) {
  const Deadline deadline(within);
  const auto line = socket_.receive(deadline);
  if (!line)
    throw Error(Code::timeout, fmt::format("{} does not answer", who_))
        .because("it accepts the connection and says nothing: another holds its control socket, or it hangs");
  const auto message = parse_qmp(*line);
  if (const auto* greeting = std::get_if<QmpGreeting>(&message))
    version_ = greeting->version;
  else
    throw Error(Code::internal, fmt::format("{} does not greet", who_)).because(line->substr(0, 80));
  execute("qmp_capabilities", {}, deadline.left());
}

void Qmp::keep(QmpEvent event) {
  if (events_.size() == kMaxEvents) events_.pop_front();
  events_.push_back(std::move(event));
}

json::value Qmp::execute(const std::string& command, json::object arguments, Duration within) {
  return ask(command, std::move(arguments), within, -1);
}

void Qmp::give_fd(const std::string& name, const os::Fd& fd) { ask("getfd", {{"fdname", name}}, kPatience, fd.get()); }

json::value Qmp::ask(const std::string& command, json::object arguments, Duration within, int descriptor) {
  const Deadline deadline(within);
  const auto id = next_id_++;
  json::object question = {{"execute", command}, {"id", id}};
  if (!arguments.empty()) question["arguments"] = std::move(arguments);
  socket_.send(json::serialize(question) + "\n", deadline, descriptor);
  for (;;) {
    const auto line = socket_.receive(deadline);
    if (!line)
      throw Error(Code::timeout, fmt::format("{} does not answer '{}'", who_, command))
          .because(fmt::format("it was waited for {}", human_duration(within)));
    auto message = parse_qmp(*line);
    if (auto* event = std::get_if<QmpEvent>(&message)) {
      keep(std::move(*event));
      // One that never stops talking is not one that answers.
      if (deadline.passed())
        throw Error(Code::timeout, fmt::format("{} does not answer '{}'", who_, command))
            .because(fmt::format("it sends events alone, for {}", human_duration(within)));
    } else if (auto* done = std::get_if<QmpReturn>(&message)) {
      if (done->id == id) return std::move(done->value);
      // Otherwise of a command that was not waited for to the end.
    } else if (const auto* failure = std::get_if<QmpFailure>(&message); failure != nullptr && failure->id == id) {
      throw Error(code_of(failure->error_class), fmt::format("{} refuses '{}'", who_, command))
          .because(fmt::format("{}: {}", failure->error_class, failure->text));
    }
  }
}

std::vector<QmpEvent> Qmp::take_events() {
  static_cast<void>(wait_event({}, Duration{0}));
  std::vector<QmpEvent> all(std::make_move_iterator(events_.begin()), std::make_move_iterator(events_.end()));
  events_.clear();
  return all;
}

std::optional<QmpEvent> Qmp::wait_event(const std::vector<std::string>& names, Duration within) {
  const auto wanted = [&](const QmpEvent& event) {
    return std::find(names.begin(), names.end(), event.name) != names.end();
  };
  if (const auto found = std::find_if(events_.begin(), events_.end(), wanted); found != events_.end()) {
    auto event = std::move(*found);
    events_.erase(found);
    return event;
  }
  const Deadline deadline(within);
  // What is there already is taken in when no time is left, too; of one that never stops, no more than is kept.
  for (std::size_t late = 0; late < kMaxEvents; late += deadline.passed() ? 1 : 0) {
    const auto line = socket_.receive(deadline);
    if (!line) break;
    auto message = parse_qmp(*line);
    auto* event = std::get_if<QmpEvent>(&message);
    if (event == nullptr) continue;
    if (wanted(*event)) return std::move(*event);
    keep(std::move(*event));
  }
  return std::nullopt;
}

}  // namespace underway::vm
