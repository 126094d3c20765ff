// Pools that grow and shrink as Slurm's queue asks: how they stand, and why a Slurm job waits. Whoever may see clusters
// and hosts may see it; what is told is as of the newest look, and in no table, so nothing here can be waited for. And
// what Slurm's own programs say of pools that it asks for itself.
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "growth/asked.hpp"
#include "growth/growth.hpp"
#include "slurm/commands.hpp"

namespace underway::api {
namespace {

using acl::Level;

/// Far more than two numbers of 32 bits, which is what Slurm writes.
constexpr std::size_t kLongestJobId = 64;

Error no_such(const Api& api, const std::string& cluster) {
  Error error(Code::not_found, fmt::format("cluster '{}' has no pool that grows", cluster));
  if (!api.server.writer().tables().find_cluster(cluster))
    return std::move(error).because("there is no such cluster").advise("`underway cluster list` tells which there are");
  return std::move(error)
      .because(api.growth == nullptr ? "this server lets no pool grow" : "none of its pools has a block `elastic`")
      .advise("write a block `elastic` into one of its pools, and apply the cluster");
}

/// "17", a task of an array "17_3", a part of a heterogeneous job "17+1".
void check_job_id(const std::string& id) {
  if (!id.empty() && id.size() <= kLongestJobId && id.find_first_not_of("0123456789_+") == std::string::npos) return;
  throw Error(Code::invalid, "that is no id of a Slurm job")
      .because(fmt::format("it has at most {} characters, of digits, '_' and '+'", kLongestJobId))
      .advise("take it from the first column of `squeue --array`");
}

awaitable<Response> list_elastic(Api& api, Request) {
  const auto all = api.growth == nullptr ? std::vector<growth::Status>() : api.growth->status();
  co_return http::json(json::encode(all));
}

awaitable<Response> read_elastic(Api& api, Request request) {
  const std::string cluster = request.param("cluster");
  const auto status = api.growth == nullptr ? std::nullopt : api.growth->status(cluster);
  if (!status) throw no_such(api, cluster);
  co_return http::json(json::encode(*status));
}

awaitable<Response> explain_slurm_job(Api& api, Request request) {
  const std::string cluster = request.param("cluster"), id = request.param("id");
  check_job_id(id);
  const auto explanation = api.growth == nullptr ? std::nullopt : api.growth->explain(cluster, id);
  if (!explanation) throw no_such(api, cluster);
  co_return http::json(json::encode(*explanation));
}

/// 100,000 names, and those of their jobs.
constexpr std::size_t kAskBodyLimit = 16U << 20;

/// Of tasks only those of the job that runs the cluster's slurmctld: it is Slurm then that asks.
void require_slurmctld(const Api& api, const Request& request, const std::string& cluster) {
  const auto& workload = request.caller().workload;
  if (!workload) return;
  const auto allocation = api.server.writer().tables().find_allocation(workload->allocation_id);
  if (allocation && allocation->job && allocation->job->cluster == cluster && slurm::runs_slurmctld(*allocation->job))
    return;
  request.require(right::operators(Level::write));
}

awaitable<Response> take_ask(Api& api, Request request, growth::SlurmProgram program) {
  growth::AskedBySlurm asked{request.param("name"), program, {}};
  require_slurmctld(api, request, asked.cluster);
  auto read = [&request] { return json::decode<model::SlurmAsk>(boost::json::value(parse_body(request)), "ask"); };
  asked.ask = co_await computed(api, request, "reading what Slurm asks for", read);
  const auto answer = co_await apply(api, request, std::move(asked));
  co_return http::json(json::encode(answer));
}

}  // namespace

void add_elastic_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto reads = right::node(Level::read);
  routes.add("GET", "/v1/underway/elastic", "list elastic clusters", reads, with(list_elastic));
  routes.add("GET", "/v1/underway/elastic/:cluster", "read elastic cluster", reads, with(read_elastic));
  routes.add("GET", "/v1/underway/elastic/:cluster/job/:id", "explain slurm job", reads, with(explain_slurm_job));
  const auto asks = [&api](growth::SlurmProgram program) {
    return [&api, program](Request request) { return take_ask(api, std::move(request), program); };
  };
  const RouteTraits traits{.body_limit = kAskBodyLimit};
  routes.add("PUT|POST", "/v1/underway/cluster/:name/slurm/resume", "slurm resume", right::slurmctld(),
             asks(growth::SlurmProgram::resume), traits);
  routes.add("PUT|POST", "/v1/underway/cluster/:name/slurm/suspend", "slurm suspend", right::slurmctld(),
             asks(growth::SlurmProgram::suspend), traits);
  routes.add("PUT|POST", "/v1/underway/cluster/:name/slurm/resume-fail", "slurm resume-fail", right::slurmctld(),
             asks(growth::SlurmProgram::resume_fail), traits);
}

}  // namespace underway::api
