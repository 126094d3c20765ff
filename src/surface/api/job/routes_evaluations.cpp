// Evaluations: list, read, their allocations.
#include <set>

#include "api/nomad/stubs.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using tables::Scope;
using tables::Topic;

awaitable<Response> list_evaluations(Api& api, Request request) {
  const std::string prefix = uuid_prefix_of(request);
  const std::string job = request.query.find("job").value_or(""), status = request.query.find("status").value_or("");
  std::vector<Scope> scopes{{Topic::evaluations, ""}};
  const auto list = [&](const tables::Tables& tables) {
    std::vector<Item> items;
    NamespaceFilter shown(request);
    for (const auto& evaluation : tables.evaluations(prefix)) {
      const bool other = !shown(evaluation->ns) || (!job.empty() && evaluation->job_id != job) ||
                         (!status.empty() && describe::spell(evaluation->status) != status);
      if (other) continue;
      items.push_back(item_of(evaluation->id, evaluation, prefix.empty() ? evaluation->create_index : 0));
      items.back().within = evaluation->create_time;
    }
    return items;
  };
  co_return co_await answer_list(api, request, std::move(scopes), list, kNothingYet);
}

/// Those that it led to or came from, and theirs, as Nomad tells them with ?related.
std::vector<tables::Row<model::Evaluation>> related_to(const tables::Tables& tables,
                                                       const tables::Row<model::Evaluation>& evaluation) {
  std::set<std::string> known{evaluation->id};
  std::vector<tables::Row<model::Evaluation>> found;
  const auto follow = [&](const model::Evaluation& from) {
    for (const auto& id : {from.next_eval, from.previous_eval, from.blocked_eval}) {
      if (id.empty() || !known.insert(id).second) continue;
      if (auto row = tables.find_evaluation(id)) found.push_back(std::move(row));
    }
  };
  follow(*evaluation);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto row = found[i];  // what follows makes the list longer
    follow(*row);
  }
  return found;
}

/// Nomad's EvaluationStub, which says everything.
std::string related_json(const tables::Row<model::Evaluation>& row) {
  auto body = json::to_value(*row).as_object();
  for (const char* whole : {"JobModifyIndex", "FailedTGAllocs", "QueuedAllocations", "ClassEligibility",
                            "EscapedComputedClass", "QuotaLimitReached"})
    body.erase(whole);
  if (row->wait_until == 0) body["WaitUntil"] = nullptr;
  return boost::json::serialize(body);
}

awaitable<Response> read_evaluation(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{{Topic::evaluations, id}};
  const bool related = request.query.flag("related");
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    const auto evaluation = get_evaluation(tables, id);
    std::string text = nomad_json(*evaluation);
    if (!related) return text;
    text.pop_back();
    const auto found = related_to(tables, evaluation);
    return text + ",\"RelatedEvals\":" + (found.empty() ? std::string("null") : json_list(found, related_json)) + "}";
  });
}

awaitable<Response> evaluation_allocations(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{{Topic::allocations, "eval:" + id}};
  const auto list = [&](const tables::Tables& tables) {
    std::vector<Item> items;
    // None of one that is not known, as Nomad has it.
    for (const auto& row : tables.allocations_of_evaluation(id))
      items.push_back({row->id, [&tables, row] { return nomad_json(stub(tables, *row)); }, {}, row->create_index});
    return items;
  };
  co_return co_await answer_list(api, request, std::move(scopes), list, kNothingYet);
}

}  // namespace

void add_evaluation_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/evaluations", "list evaluations", right::ns(Capability::read_job), with(list_evaluations));
  routes.add("GET", "/v1/evaluation/:id", "read evaluation", right::ns(Capability::read_job, of_evaluation),
             with(read_evaluation));
  routes.add("GET", "/v1/evaluation/:id/allocations", "evaluation allocations",
             right::ns(Capability::read_job, of_evaluation), with(evaluation_allocations));
}

}  // namespace underway::api
