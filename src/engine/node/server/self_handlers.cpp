// What the server asks about the node itself: statistics, metadata, its log.
#include "async/log_lines.hpp"
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "node/detail/node_impl.hpp"

namespace underway::node {

/// Beside the directories of allocations, which go as others end.
async::LoopPlan Node::Impl::collection_loop() {
  return {.area = "node",
          .name = "collection",
          .trouble = "what no task needs any more is not removed",
          .wait = [] { return async::sleep_for(std::chrono::hours(1)); },
          .reconcile = [this] { return collect(); },
          .retry = async::RetryPolicy::up_to(std::chrono::hours(1)),
          .patience = std::chrono::hours(1)};
}

awaitable<void> Node::Impl::collect() {
  co_await blocking(runtime_, [this] { options_.collect(false); });
}

awaitable<boost::json::value> Node::Impl::answer_for_self(std::string method, boost::json::value body) {
  if (method == "node.metadata") co_return json::to_value(metadata_.now());
  if (method == "node.metadata.apply") co_return co_await apply_metadata(json::decode<protocol::MetadataRequest>(body));
  if (method == "node.stats") {
    protocol::HostStats stats;
    const std::int64_t core = self_.resources.cpu / std::max<std::int64_t>(1, self_.resources.cores);
    const auto sample = [&] { stats = host_sampler_.sample(Machine{}, options_.data_dir, core, runtime_.now()); };
    co_await blocking(runtime_, sample);
    co_return json::to_value(stats);
  }
  if (method == "node.metrics") co_return json::to_value(co_await measure());
  if (method == "node.host") {
    boost::json::object data;
    const auto look = [&] { data = host_data(Machine{}, options_.data_dir); };
    co_await blocking(runtime_, look);
    co_return boost::json::object{{"AgentID", self_.id}, {"HostData", std::move(data)}};
  }
  if (method == "node.gc") {
    std::vector<std::string> ended;
    for (const auto& [id, runner] : runners_)
      if (runner->dead() && !runner->unreported) ended.push_back(id);
    for (const auto& id : ended) destroy(id);
    if (options_.collect) co_await blocking(runtime_, [this] { options_.collect(true); });
    co_return boost::json::object{};
  }
  throw Error(Code::unsupported, fmt::format("this node does not know '{}'", method))
      .because("server and node are of different versions");
}

/// One after the other: each begins with what the last one made of it.
awaitable<boost::json::value> Node::Impl::apply_metadata(protocol::MetadataRequest request) {
  while (applying_metadata_) co_await metadata_applied_.wait();
  auto next = metadata_.next(request);
  if (next == metadata_.now().dynamic) co_return json::to_value(metadata_.now());
  applying_metadata_ = true;
  std::exception_ptr failure;
  try {
    const auto write = [&] { metadata_.write(next); };
    co_await blocking(runtime_, write);
  } catch (...) {
    failure = std::current_exception();
  }
  applying_metadata_ = false;
  metadata_applied_.notify_all();
  if (failure) std::rethrow_exception(failure);
  metadata_.set(std::move(next));
  // The server is told at once: placement goes by it.
  unpresented_ = true;
  news_.notify_all();
  co_return json::to_value(metadata_.now());
}

namespace {

/// So that the end of one who listens is noticed while nothing is logged.
constexpr Duration kLookForPeer = std::chrono::seconds{10};

}  // namespace

awaitable<void> Node::Impl::serve_monitor(protocol::MonitorRequest request, std::shared_ptr<link::Stream> stream) {
  log::Level level{};
  if (!log::parse_level(request.level, level))
    throw Error(Code::invalid, fmt::format("unknown log level '{}'", request.level));
  async::LogLines lines(loop_.executor(), level);
  while (true) {
    const auto line = co_await lines.next(async::deadline_in(kLookForPeer));
    // Either throws once the peer or the link has broken it off.
    if (line)
      co_await stream->write((request.json ? log::json_of(*line) : log::text_of(*line)) + "\n");
    else
      co_await stream->write_control(boost::json::object{});
  }
}

}  // namespace underway::node
