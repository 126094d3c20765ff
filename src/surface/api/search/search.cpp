#include "api/search/search.hpp"

#include <set>

#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "server/access/namespace_decisions.hpp"
#include "tables/node_pools.hpp"
#include "tables/quotas.hpp"

namespace underway::api {
namespace {

using acl::Access;
using acl::Capability;
using acl::Level;
using tables::Tables;

/// In the order of the answer. Those that nothing is ever found in are asked for by clients all the same.
constexpr std::string_view kContexts[] = {"allocs",         "deployment", "evals",  "host_volumes", "jobs",
                                          "namespaces",     "node_pools", "nodes",  "plugins",      "quotas",
                                          "scaling_policy", "vars",       "volumes"};
/// Parts of jobs, which only a fuzzy search finds.
constexpr std::string_view kPartsOfJobs[] = {"classes", "commands", "groups", "images", "services", "tasks"};

/// Whether the caller may see anything of that kind. Rows are looked at one by one after that.
bool may_see(const Request& request, std::string_view context) {
  const auto& rights = request.rights();
  const std::string ns = namespace_of(request);
  const auto in = [&](Capability capability) { return rights.in(ns, capability) || (ns == "*" && rights.any()); };
  if (context == "nodes") return rights.node(Level::read);
  if (context == "jobs") return in(Capability::list_jobs) || in(Capability::read_job);
  if (context == "namespaces" || context == "node_pools" || context == "vars") return rights.any();
  if (context == "plugins") return rights.plugin(Level::read);
  if (context == "quotas") return rights.quota(Level::read);
  return in(Capability::read_job);
}

/// The contexts that are asked for and may be seen.
std::set<std::string> contexts_of(const Request& request, const std::string& context, bool fuzzy) {
  std::vector<std::string> known(std::begin(kContexts), std::end(kContexts));
  if (fuzzy) known.insert(known.end(), std::begin(kPartsOfJobs), std::end(kPartsOfJobs));
  // Nomad's name of it is in the singular, and its documentation has both.
  const std::string asked = context == "deployments" ? "deployment" : context;
  if (asked != "all" && std::find(known.begin(), known.end(), asked) == known.end())
    throw Error(Code::invalid, fmt::format("context must be one of {}, all; got \"{}\"", join(known, ", "), context));
  std::set<std::string> out;
  for (const auto& name : known) {
    if ((asked == "all" || asked == name) && may_see(request, name)) out.insert(name);
  }
  if (out.empty()) throw Error(Code::denied, acl::kPermissionDenied);
  return out;
}

/// Walks over what a context has, calling visit(row) for what the caller may see, until that returns false.
class Walk {
 public:
  Walk(const Tables& tables, const Request& request) : tables_(tables), request_(request), ns_(namespace_of(request)) {}

  template <class Visit>
  void jobs(std::string_view prefix, Capability capability, Visit visit) const {
    rows(tables_.jobs(ns_, prefix), capability, visit);
  }
  template <class Visit>
  void allocations(std::string_view prefix, Visit visit) const {
    rows(tables_.allocations(prefix), Capability::read_job, visit);
  }
  template <class Visit>
  void evaluations(std::string_view prefix, Visit visit) const {
    rows(tables_.evaluations(prefix), Capability::read_job, visit);
  }
  template <class Visit>
  void deployments(std::string_view prefix, Visit visit) const {
    rows(tables_.rows<model::Deployment>(std::string(prefix)), Capability::read_job, visit);
  }
  template <class Visit>
  void variables(std::string_view prefix, Visit visit) const {
    for (const auto& row : tables_.rows<model::Variable>(ns_ == "*" ? "" : ns_ + "/" + std::string(prefix))) {
      const bool shown = row->path.starts_with(prefix) && request_.rights().variable(row->path, row->ns, Access::list);
      if (shown && !visit(*row)) return;
    }
  }
  template <class Visit>
  void namespaces(Visit visit) const {
    for (const auto& ns : server::namespaces(tables_)) {
      if (request_.rights().sees(ns.name) && !visit(ns)) return;
    }
  }
  template <class Visit>
  void node_pools(Visit visit) const {
    for (const auto& pool : tables::node_pools(tables_)) {
      if (request_.rights().node_pool(pool.name, Level::read) && !visit(pool)) return;
    }
  }

 private:
  template <class Rows, class Visit>
  void rows(const Rows& all, Capability capability, Visit visit) const {
    for (const auto& row : all) {
      const bool shown = (ns_ == "*" || row->ns == ns_) && request_.may(row->ns, capability);
      if (shown && !visit(*row)) return;
    }
  }

  const Tables& tables_;
  const Request& request_;
  std::string ns_;
};

/// Fills one context: false when it is full.
class Prefixes {
 public:
  Prefixes(Found<std::string>& found, const std::string& context)
      : out_(found.matches[context]), truncated_(found.truncations[context]) {}
  bool operator()(const std::string& id) {
    truncated_ = out_.size() == kPrefixMatches;
    if (!truncated_) out_.push_back(id);
    return !truncated_;
  }

 private:
  std::vector<std::string>& out_;
  bool& truncated_;
};

void add_by_prefix(const Tables& tables, const Request& request, const std::string& context, const std::string& prefix,
                   Found<std::string>& found) {
  const Walk walk(tables, request);
  Prefixes add(found, context);
  const auto by_id = [&](const auto& row) { return add(row.id); };
  if (context == "jobs") walk.jobs(prefix, Capability::list_jobs, by_id);
  if (context == "allocs") walk.allocations(prefix, by_id);
  if (context == "evals") walk.evaluations(prefix, by_id);
  if (context == "deployment") walk.deployments(prefix, by_id);
  if (context == "vars") walk.variables(prefix, [&](const auto& row) { return add(row.path); });
  if (context == "namespaces")
    walk.namespaces([&](const auto& ns) { return !ns.name.starts_with(prefix) || add(ns.name); });
  if (context == "node_pools")
    walk.node_pools([&](const auto& pool) { return !pool.name.starts_with(prefix) || add(pool.name); });
  if (context == "quotas") {
    for (const auto& quota : tables::records<model::Quota>(tables, prefix)) {
      if (!add(quota.name)) break;
    }
  }
  if (context == "nodes") {
    for (const auto& node : tables.nodes(prefix)) {
      if (!add(node->id)) break;
    }
  }
}

/// A match with how good it is: where in the name the text begins.
struct Scored {
  std::size_t at = 0;
  wire::FuzzyMatch match;
};

/// What a fuzzy search has found so far.
class Finds {
 public:
  explicit Finds(const std::string& text) : text_(lower(text)) {}

  void add(const std::string& context, const std::string& name, std::vector<std::string> scope) {
    const auto at = lower(name).find(text_);
    if (at != std::string::npos) found_[context].push_back({at, {name, std::move(scope)}});
  }
  /// The best of each context, of `contexts` alone.
  Found<wire::FuzzyMatch> best(const std::set<std::string>& contexts) {
    Found<wire::FuzzyMatch> out;
    for (const auto& context : contexts) {
      auto& all = found_[context];
      std::sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) {
        return std::forward_as_tuple(a.at, a.match.scope.size(), a.match.id, a.match.scope) <
               std::forward_as_tuple(b.at, b.match.scope.size(), b.match.id, b.match.scope);
      });
      auto& matches = out.matches[context];
      out.truncations[context] = all.size() > kFuzzyMatches;
      for (std::size_t i = 0; i < std::min(all.size(), kFuzzyMatches); ++i) matches.push_back(std::move(all[i].match));
    }
    return out;
  }

 private:
  std::string text_;
  std::map<std::string, std::vector<Scored>> found_;
};

void add_task(const model::Task& task, std::vector<std::string> scope, Finds& finds) {
  finds.add("tasks", task.name, scope);
  scope.push_back(task.name);
  for (const auto& service : task.services) finds.add("services", service.name, scope);
  const auto part = [&](const char* context, const std::string& name) {
    if (!name.empty()) finds.add(context, name, scope);
  };
  part("images", json::text_at(task.config, "image"));
  part("commands", json::text_at(task.config, "command"));
  part("classes", json::text_at(task.config, "class"));
}

/// Its parts, whose names may tell what only those may know who may read it.
void add_parts(const model::Job& job, Finds& finds) {
  for (const auto& group : job.groups) {
    finds.add("groups", group.name, {job.ns, job.id});
    for (const auto& service : group.services) finds.add("services", service.name, {job.ns, job.id, group.name});
    for (const auto& task : group.tasks) add_task(task, {job.ns, job.id, group.name}, finds);
  }
}

}  // namespace

Found<std::string> search(const Tables& tables, const Request& request, const std::string& context,
                          const std::string& prefix) {
  Found<std::string> found;
  for (const auto& name : contexts_of(request, context, false)) add_by_prefix(tables, request, name, prefix, found);
  return found;
}

Found<wire::FuzzyMatch> fuzzy_search(const Tables& tables, const Request& request, const std::string& context,
                                     const std::string& text) {
  if (text.size() < kShortestTerm)
    throw Error(Code::invalid,
                fmt::format("fuzzy search query must be at least {} characters, got {}", kShortestTerm, text.size()));
  const auto contexts = contexts_of(request, context, true);
  const Walk walk(tables, request);
  Finds finds(text);
  std::size_t left = kFuzzyObjects;
  const auto more = [&left] { return left-- > 1; };
  if (contexts.contains("jobs")) {
    walk.jobs("", Capability::list_jobs, [&](const auto& job) {
      finds.add("jobs", job.name, {job.ns, job.id});
      return more();
    });
  }
  const bool parts = std::any_of(std::begin(kPartsOfJobs), std::end(kPartsOfJobs),
                                 [&](auto name) { return contexts.contains(std::string(name)); });
  left = kFuzzyObjects;
  if (parts) {
    walk.jobs("", Capability::read_job, [&](const auto& job) {
      add_parts(job, finds);
      return more();
    });
  }
  left = kFuzzyObjects;
  if (contexts.contains("allocs")) {
    walk.allocations("", [&](const auto& row) {
      finds.add("allocs", row.name, {row.ns, row.id});
      return more();
    });
  }
  if (contexts.contains("nodes")) {
    for (const auto& node : tables.nodes()) finds.add("nodes", node->name, {node->id});
  }
  if (contexts.contains("namespaces")) {
    walk.namespaces([&](const auto& ns) {
      finds.add("namespaces", ns.name, {});
      return true;
    });
  }
  if (contexts.contains("node_pools")) {
    walk.node_pools([&](const auto& pool) {
      finds.add("node_pools", pool.name, {});
      return true;
    });
  }
  auto found = finds.best(contexts);
  // What has an id and no name is found by its beginning.
  for (const char* by_id : {"evals", "deployment", "vars"}) {
    if (!contexts.contains(by_id)) continue;
    Found<std::string> ids;
    add_by_prefix(tables, request, by_id, text, ids);
    for (auto& id : ids.matches[by_id]) found.matches[by_id].push_back({std::move(id), {}});
    found.truncations[by_id] = ids.truncations[by_id];
  }
  return found;
}

}  // namespace underway::api
