// Why a job is as it is: what `underway job explain` asks.
#include <deque>
#include <map>

#include "api/job/explain.hpp"
#include "api/routes.hpp"
#include "api/work.hpp"
#include "async/event.hpp"
#include "base/json/json.hpp"

namespace underway::api {
namespace {

using tables::Topic;

constexpr std::size_t kWaitingOfOne = 32;

/// While an explanation is worked out nobody else reads or writes. So the turns go round between callers, as they do at
/// the workers: each has one under way, and the others of it wait here. Thread: the loop's.
class Callers {
 public:
  class Place {
   public:
    Place(Callers& callers, std::string client) : callers_(callers), client_(std::move(client)) {
      auto& line = callers_.lines_[client_];
      if (line.size() > kWaitingOfOne)
        throw Error(Code::unavailable, "too much waits to be explained")
            .because(fmt::format("{} requests of this caller wait", kWaitingOfOne))
            .advise("try again in a moment");
      line.push_back(this);
    }
    Place(const Place&) = delete;
    ~Place() {
      const auto line = callers_.lines_.find(client_);
      std::erase(line->second, this);
      if (line->second.empty())
        callers_.lines_.erase(line);
      else
        line->second.front()->first_.notify_all();
    }
    awaitable<void> wait() {
      while (callers_.lines_.at(client_).front() != this) co_await first_.wait();
    }

   private:
    Callers& callers_;
    std::string client_;
    async::Event first_;
  };

 private:
  std::map<std::string, std::deque<Place*>> lines_;  ///< the first of each is under way
};

/// Waits for what a blocking query waits for, so that nobody's place is taken meanwhile; the request goes on without.
awaitable<void> wait_for_news(Api& api, Request& request, const std::vector<tables::Scope>& scopes) {
  if (!request.query.has("index")) co_return;
  const Body nothing = [](const tables::Tables&) { return std::string("null"); };
  auto waited_for = scopes;
  co_await answer_read(api, request, std::move(waited_for), nothing);
  http::Query rest;
  for (const auto& [name, value] : request.query.items()) {
    if (name != "index") rest.add(name, value);
  }
  request.query = std::move(rest);
}

awaitable<Response> explain(Api& api, std::shared_ptr<Callers> callers, Request request) {
  const std::string id = request.param("id");
  if (request.query.flag("nodes")) request.require(right::node(acl::Level::read));
  std::vector<tables::Scope> scopes{{Topic::jobs, ""},
                                    {Topic::nodes, ""},
                                    {Topic::allocations, ""},
                                    {Topic::evaluations, ""},
                                    {Topic::deployments, ""}};
  co_await wait_for_news(api, request, scopes);
  Callers::Place place(*callers, client_of(request));
  co_await place.wait();
  const Gathering gather = [&](const tables::Tables& tables) {
    const auto job = get_job(tables, request, id);
    JudgeNodes judge;
    if (request.query.flag("nodes"))
      judge = [&](const model::TaskGroup& group) { return api.server.judge_nodes(job, group); };
    auto explained = explain_job(tables, *job, api.clock.now(), judge);
    return [explained = std::move(explained)] { return json::encode(explained); };
  };
  co_return co_await answer_apart(api, request, std::move(scopes), "explaining the job", gather);
}

}  // namespace

void add_explain_routes(Routes& routes, Api& api) {
  routes.add("GET", "/v1/underway/job/*id/explain", "explain job", right::ns(acl::Capability::read_job),
             [&api, callers = std::make_shared<Callers>()](Request request) {
               return explain(api, callers, std::move(request));
             });
}

}  // namespace underway::api
