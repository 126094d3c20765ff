// Allocations: list, read, stop, and what their node does with them: restart, signal, statistics, collection; and of
// virtual machines, which is ours, pause, suspend, resume, move and checkpoint.
#include "api/allocation/allocation_body.hpp"
#include "api/cluster/change_note.hpp"
#include "api/node/node_body.hpp"
#include "api/nomad/nomad_body.hpp"
#include "api/nomad/stubs.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "protocol/messages.hpp"
#include "server/node/move_decisions.hpp"
#include "server/node/sleep_decisions.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using tables::Scope;
using tables::Topic;

/// With the job that it is of, which stands beside it.
filter::Datum datum_of(const model::Allocation& allocation) {
  return filter::datum_of(allocation, filter::extra_of("Job", allocation.job.get()));
}

/// `resources` adds what an allocation has; `task_states=false` leaves its tasks out.
awaitable<Response> list_allocations(Api& api, Request request) {
  const std::string prefix = uuid_prefix_of(request);
  const bool resources = request.query.flag("resources");
  const bool tasks = !request.query.has("task_states") || request.query.flag("task_states");
  std::vector<Scope> scopes{{Topic::allocations, ""}};
  const auto list = [&](const tables::Tables& tables) {
    std::vector<Item> items;
    NamespaceFilter shown(request);
    for (const auto& allocation : tables.allocations(prefix)) {
      if (!shown(allocation->ns)) continue;
      items.push_back({allocation->id,
                       [&tables, allocation, resources, tasks] {
                         auto row = stub(tables, *allocation);
                         if (!tasks) row.task_states.reset();
                         std::string text = nomad_json(row);
                         if (!resources) return text;
                         text.pop_back();
                         return text + ",\"AllocatedResources\":" + allocated_json(*allocation) + "}";
                       },
                       datum_of(*allocation), prefix.empty() ? allocation->create_index : 0});
    }
    return items;
  };
  co_return co_await answer_list(api, request, std::move(scopes), list, kNothingYet);
}

awaitable<Response> read_allocation(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{{Topic::allocations, id}};
  const Gathering gather = [&](const tables::Tables& tables) {
    return [row = get_allocation(tables, id)] { return allocation_json(*row); };
  };
  co_return co_await answer_made(api, request, std::move(scopes), gather);
}

awaitable<Response> stop_allocation(Api& api, Request request) {
  const auto* tables = co_await api.server.read();
  const auto row = get_allocation(*tables, request.param("id"));
  server::StopAllocation stop{row->id, request.query.flag("no_shutdown_delay"), request.query.flag("reschedule")};
  const std::string eval = co_await apply(api, request, std::move(stop));
  tables = co_await api.server.read();
  const model::Revision index = tables->revision_of({Topic::allocations, request.param("id")});
  co_return written(boost::json::serialize(boost::json::object{{"EvalID", eval}, {"Index", index}}), index);
}

/// Asks the allocation's node. An empty body is fine. `within`: as long as any call if not given.
awaitable<boost::json::value> ask_node(Api& api, const Request& request, const char* method,
                                       std::optional<Duration> within = {}) {
  const auto* tables = co_await api.server.read();
  const auto allocation = get_allocation(*tables, request.param("id"));
  protocol::TaskRequest ask;
  ask.id = allocation->id;
  if (!request.body.empty()) {
    const auto body = parse_body(request);
    const auto text = [&](const char* key) {
      const auto* value = json::find_member(body, key);
      return value != nullptr && value->is_string() ? std::string(std::string_view(value->get_string()))
                                                    : std::string();
    };
    ask.task = !text("TaskName").empty() ? text("TaskName") : text("Task");
    ask.signal = text("Signal");
    ask.checkpoint = text("Checkpoint");
    const auto* all = json::find_member(body, "AllTasks");
    ask.all_tasks = all != nullptr && all->is_bool() && all->get_bool();
  }
  if (const auto task = request.query.find("task"); task && ask.task.empty()) ask.task = *task;
  if (ask.all_tasks && !ask.task.empty())
    throw Error(Code::invalid, "AllTasks and a task's name exclude each other")
        .because(fmt::format("all tasks and task '{}' are asked for", ask.task));
  co_return co_await api.server.call_node(allocation->node_id, method, json::to_value(ask), within);
}

awaitable<Response> restart_allocation(Api& api, Request request) {
  request.tell("tasks restarted");
  co_await ask_node(api, request, "alloc.restart");
  const auto* tables = co_await api.server.read();
  const auto row = get_allocation(*tables, request.param("id"));
  auto finding = impact::disturbed(*row, "is restarted where it is");
  ChangeWords words{fmt::format("restart allocation '{}'", row->name), row->ns};
  co_await note_change(api, request, std::move(words), std::move(finding));
  co_return http::json("{}");
}

awaitable<Response> signal_allocation(Api& api, Request request) {
  request.tell("tasks signalled");
  co_await ask_node(api, request, "alloc.signal");
  co_return http::json("{}");
}

awaitable<Response> pause_allocation(Api& api, Request request) {
  request.tell("machines paused");
  co_await ask_node(api, request, "alloc.pause");
  co_return http::json("{}");
}

/// Of a host others decide: one that is to be awake is woken again at once; and Slurm has to know of what happens to
/// it, of a return to an earlier moment, too, in which it had other jobs.
void require_no_host(const tables::Tables& tables, const model::Allocation& row, const std::string& what) {
  for (const auto& host : tables.hosts()) {
    if (row.group != host->name || row.job_id != model::pool_job_id(host->cluster, host->pool)) continue;
    throw Error(Code::conflict, fmt::format("allocation {} is host '{}' of cluster '{}'", row.id.substr(0, 8),
                                            host->name, host->cluster))
        .because(fmt::format("whether a host {} is its cluster's to say, with its Slurm jobs", what))
        .advise(what == "sleeps" ? fmt::format("underway host suspend {}", host->name)
                                 : std::string("have the host made anew"));
  }
}

/// Answered when it is asked for: that they sleep is told by the allocation.
awaitable<Response> suspend_allocation(Api& api, Request request) {
  const auto* tables = co_await api.server.read();
  const auto row = get_allocation(*tables, request.param("id"));
  require_no_host(*tables, *row, "sleeps");
  server::SleepAllocation sleep{row->id};
  co_await apply(api, request, std::move(sleep));
  co_return http::json("{}");
}

/// Answered when it is asked for: how far it is is told by the allocation, and by that which it goes on as.
awaitable<Response> move_allocation(Api& api, Request request) {
  const auto* tables = co_await api.server.read();
  server::MoveAllocation move{.id = get_allocation(*tables, request.param("id"))->id};
  if (!request.body.empty()) {
    const auto body = parse_body(request);
    const auto* node = json::find_member(body, "Node");
    if (node != nullptr && node->is_string() && !node->get_string().empty())
      move.to_node = find_node_id(*tables, std::string(std::string_view(node->get_string())));
    const auto flag = [&](const char* key) {
      const auto* value = json::find_member(body, key);
      return value != nullptr && value->is_bool() && value->get_bool();
    };
    move.cancel = flag("Cancel");
    move.wake = flag("Wake");
  }
  co_await apply(api, request, std::move(move));
  co_return http::json("{}");
}

/// Of those that sleep, or are to; else of those that were paused.
awaitable<Response> resume_allocation(Api& api, Request request) {
  const auto* tables = co_await api.server.read();
  const auto row = get_allocation(*tables, request.param("id"));
  if (row->sleep && row->sleep->wanted) {
    server::WakeAllocation wake{row->id};
    co_await apply(api, request, std::move(wake));
    co_return http::json("{}");
  }
  request.tell("machines resumed");
  co_await ask_node(api, request, "alloc.resume");
  co_return http::json("{}");
}

/// To be written, or read: the node gives up where nothing goes on.
constexpr Duration kAsLongAsTheirMemoryTakes = std::chrono::hours(24);

awaitable<Response> checkpoint_allocation(Api& api, Request request) {
  request.tell("checkpoints of machines");
  const auto made = co_await ask_node(api, request, "alloc.checkpoint", kAsLongAsTheirMemoryTakes);
  co_return http::json(boost::json::serialize(made));
}

awaitable<Response> list_checkpoints(Api& api, Request request) {
  const auto found = co_await ask_node(api, request, "alloc.checkpoints");
  co_return http::json(boost::json::serialize(found));
}

awaitable<Response> restore_allocation(Api& api, Request request) {
  const auto* tables = co_await api.server.read();
  require_no_host(*tables, *get_allocation(*tables, request.param("id")), "goes back");
  request.tell("machine set back");
  co_await ask_node(api, request, "alloc.restore", kAsLongAsTheirMemoryTakes);
  co_return http::json("{}");
}

awaitable<Response> allocation_stats(Api& api, Request request) {
  const auto stats = co_await ask_node(api, request, "alloc.stats");
  co_return http::json(boost::json::serialize(stats));
}

awaitable<Response> collect_allocation(Api& api, Request request) {
  request.tell("files removed");
  co_await ask_node(api, request, "alloc.gc");
  co_return http::json("");  // Nomad's Go library can do nothing with a body here
}

}  // namespace

void add_allocation_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/allocations", "list allocations", right::ns(Capability::read_job), with(list_allocations));
  routes.add("GET", "/v1/allocation/:id", "read allocation", right::ns(Capability::read_job, of_allocation),
             with(read_allocation));
  routes.add("PUT|POST", "/v1/allocation/:id/stop", "stop allocation",
             right::ns(Capability::alloc_lifecycle, of_allocation), with(stop_allocation));
  routes.add("PUT|POST", "/v1/client/allocation/:id/restart", "restart allocation",
             right::ns(Capability::alloc_lifecycle, of_allocation), with(restart_allocation));
  routes.add("PUT|POST", "/v1/client/allocation/:id/signal", "signal allocation",
             right::ns(Capability::alloc_lifecycle, of_allocation), with(signal_allocation));
  routes.add("GET", "/v1/client/allocation/:id/stats", "allocation statistics",
             right::ns(Capability::read_job, of_allocation), with(allocation_stats));
  routes.add("GET", "/v1/client/allocation/:id/gc", "collect allocation",
             right::ns(Capability::gc_allocation, of_allocation), with(collect_allocation),
             {.effect = Effect::changes});
  const auto lifecycle = right::ns(Capability::alloc_lifecycle, of_allocation);
  routes.add("PUT|POST", "/v1/underway/allocation/:id/pause", "pause allocation", lifecycle, with(pause_allocation));
  routes.add("PUT|POST", "/v1/underway/allocation/:id/suspend", "suspend allocation", lifecycle,
             with(suspend_allocation));
  routes.add("PUT|POST", "/v1/underway/allocation/:id/resume", "resume allocation", lifecycle, with(resume_allocation));
  routes.add("GET", "/v1/underway/allocation/:id/checkpoints", "list checkpoints",
             right::ns(Capability::read_job, of_allocation), with(list_checkpoints));
  routes.add("PUT|POST", "/v1/underway/allocation/:id/restore", "restore allocation", lifecycle,
             with(restore_allocation));
  routes.add("PUT|POST", "/v1/underway/allocation/:id/move", "move allocation", lifecycle, with(move_allocation));
  routes.add("PUT|POST", "/v1/underway/allocation/:id/checkpoint", "checkpoint allocation", lifecycle,
             with(checkpoint_allocation));
}

}  // namespace underway::api
