#include <boost/json/serialize.hpp>

#include <thread>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/event/event_text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

/// Between two attempts to reach a server that went away.
constexpr auto kPause = std::chrono::seconds(1);

/// One way through the stream and, with -follow, all that come after it.
class Follower {
 public:
  Follower(sdk::Client& client, const Arguments& arguments)
      : client_(client),
        query_{arguments.all("topic"), arguments.number("index").value_or(0)},
        as_json_(arguments.has("json")),
        follow_(arguments.has("follow")) {}

  int run() {
    stream();
    while (follow_) {
      std::this_thread::sleep_for(kPause);
      again();
    }
    return kDone;
  }

 private:
  /// To the end of what is kept, or until the connection is lost.
  void stream() {
    try {
      client_.events(
          query_, [this](const sdk::EventStart& start) { begin(start); },
          [this](const boost::json::value& event) { return show(event); }, [this] { return rest(); });
    } catch (const Error& error) {
      const bool lost = error.code() == Code::unavailable || error.code() == Code::exhausted;
      if (!follow_ || !lost || !begun_) throw;
      say(fmt::format("the stream was lost, following again: {}", error.one_line()));
    }
  }

  /// The server may be away for a while: then this is tried until it is back.
  void again() {
    try {
      stream();
    } catch (const Error& error) {
      if (error.code() != Code::unavailable) throw;
    }
  }

  void begin(const sdk::EventStart& start) {
    // The first request without an index asks for what there is.
    if (query_.index > 0 && start.complete_from > query_.index)
      say(fmt::format("events from index {} up to {} are not kept any more", query_.index, start.complete_from - 1));
    query_.index = std::max(query_.index, start.complete_from);
    begun_ = true;
  }

  bool show(const boost::json::value& event) {
    print((as_json_ ? boost::json::serialize(event) : event_text(event)) + "\n");
    const auto* index = event.as_object().if_contains("Index");
    // A stream that breaks off within an index is followed again from that index: told twice rather than never.
    if (index != nullptr && index->is_int64()) query_.index = std::max(query_.index, index->get_int64());
    within_ = true;
    return true;
  }

  /// All that happened has been told.
  bool rest() {
    if (std::exchange(within_, false)) ++query_.index;
    return follow_;
  }

  sdk::Client& client_;
  sdk::EventQuery query_;
  bool as_json_, follow_;
  bool begun_ = false;
  bool within_ = false;  ///< there may be more of the index that was told last
};

int run_events(const Arguments& arguments) {
  auto client = make_client(arguments);
  return Follower(client, arguments).run();
}

}  // namespace

const Command& events_command() {
  static const Command command{
      .name = "events",
      .summary = "Shows what happened lately, and follows what happens.",
      .details =
          "A line for each event that the server still keeps (some thousands), oldest first. Topics are Job, "
          "Allocation, Evaluation, Deployment, Node, NodeDrain, NodePool, Service, Variable, HostVolume, ACLPolicy, "
          "ACLToken, ACLRole, ACLAuthMethod, ACLBindingRule, Host and Cluster; a key is an id, and of "
          "allocations, evaluations, deployments and services also a job's. With -follow it waits for more until "
          "Ctrl-C, "
          "also through a restart of the server.",
      .examples = {"underway events -follow",
                   "underway events -topic Deployment:slurmd -topic Allocation:slurmd -follow",
                   "underway events -json -topic Node"},
      .flags = {{"topic", "TOPIC[:KEY]", "Only these.", true},
                {"follow", "", "Goes on with what happens."},
                number_flag("index", "INDEX", "Begins at this index."),
                {"json", "", "A JSON object per line, as the server sends it."}},
      .least = 0,
      .most = 0,
      .run = run_events};
  return command;
}

}  // namespace underway::cli
