#include "rehearsal/node_side.hpp"

#include "base/json/json.hpp"
#include "base/log.hpp"
#include "link/connection.hpp"

namespace underway::rehearsal {

/// One rehearsal: its thread works through it, whoever serves the stream waits.
struct NodeSide::Job {
  RehearsalRequest request;
  std::atomic<bool> cancelled = false;
  bool over = false;
  std::optional<model::Rehearsal> told;
  std::optional<Error> failure;
  async::Event changed;
};

awaitable<void> NodeSide::start(node::ExtensionContext context) {
  context_.emplace(std::move(context));
  options_.self = context_->self;
  tasks_.emplace(context_->executor, "rehearsals");
  auto work = [this] { sweep(options_); };
  try {
    co_await async::on_pool(context_->pool, work);
  } catch (const Error& e) {
    log::warn("rehearsal: {}", e.one_line());
  }
}

awaitable<void> NodeSide::stop() {
  for (const auto& job : jobs_) job->cancelled = true;
  if (tasks_) co_await tasks_->wait();
}

awaitable<boost::json::value> NodeSide::answer(std::string method, boost::json::value) {
  throw Error(Code::unsupported, fmt::format("this node does not answer '{}'", method));
  co_return nullptr;
}

awaitable<void> NodeSide::carry_out(std::shared_ptr<Job> job) {
  auto options = options_;
  options.cancelled = [job] { return job->cancelled.load(); };
  auto work = [&] { return rehearse(options, job->request); };
  try {
    job->told = co_await async::on_pool(pool_, work);
  } catch (const Error& e) {
    job->failure = e;
  } catch (const std::exception& e) {
    // Whoever waits for it has to hear of its end, whatever it was.
    job->failure = Error(Code::internal, "the rehearsal failed unexpectedly").because(e.what());
  }
  job->over = true;
  jobs_.erase(job);
  job->changed.notify_all();
}

/// Nobody waits for it any more: then it need not go on.
awaitable<void> NodeSide::watch(std::shared_ptr<Job> job, std::shared_ptr<link::Stream> stream) {
  co_await stream->broken_off();
  job->cancelled = true;
}

awaitable<void> NodeSide::serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) {
  if (method != "rehearsal.run") throw Error(Code::unsupported, fmt::format("this node has no stream '{}'", method));
  const auto job = std::make_shared<Job>();
  job->request = json::decode<RehearsalRequest>(header);
  jobs_.insert(job);
  tasks_->spawn("rehearsal", carry_out(job));
  async::TaskGroup watching(context_->executor, "rehearsal");
  watching.spawn("watching for its end", watch(job, stream));
  try {
    while (!job->over) co_await job->changed.wait();
  } catch (...) {
    job->cancelled = true;  // the link has ended
    throw;
  }
  co_await watching.stop();
  if (job->failure) throw *job->failure;
  const auto told = json::to_value(*job->told);
  co_await stream->write_control(told);
  stream->end();
}

}  // namespace underway::rehearsal
