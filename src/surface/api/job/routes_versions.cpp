// Versions of jobs: what each changed, names that keep them, the source of each. And the actions of a job's tasks.
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/numbers.hpp"
#include "model/diff/diff.hpp"
#include "model/job/spelled_policies.hpp"
#include "server/job/version_decisions.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using tables::Scope;
using tables::Topic;
using Version = tables::Row<tables::JobVersion>;

std::optional<std::int64_t> version_in(const Request& request, const char* key) {
  const auto text = request.query.find(key);
  if (!text || text->empty()) return std::nullopt;
  const auto version = parse_number<std::int64_t>(*text);
  if (!version || *version < 0)
    throw Error(Code::invalid, fmt::format("{}: '{}' is not a version of a job", key, *text));
  return version;
}

/// What `diff_tag` or `diff_version` compares all others to; null: each with the one before it.
Version compared_to(const Request& request, const tables::Tables& tables, const std::string& ns, const std::string& id,
                    const std::vector<Version>& versions) {
  const std::string tag = request.query.find("diff_tag").value_or("");
  const auto number = version_in(request, "diff_version");
  if (!tag.empty() && number) throw Error(Code::invalid, "diff_tag and diff_version exclude each other");
  if (!tag.empty()) {
    const auto tagged = server::find_tagged(tables, ns, id, tag);
    if (!tagged) throw Error(Code::not_found, fmt::format("tag \"{}\" not found on job \"{}\"", tag, id));
    return tagged;
  }
  if (!number) return nullptr;
  for (const auto& version : versions) {
    if (version->job.version == *number) return version;
  }
  throw Error(Code::not_found, fmt::format("job '{}' has no version {}", id, *number));
}

std::string diffs_of(const std::vector<Version>& versions, const Version& fixed) {
  std::string out = "[";
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (!fixed && i + 1 == versions.size()) break;
    const auto& before = fixed ? fixed : versions[i + 1];
    if (before == versions[i]) continue;
    if (out.size() > 1) out += ',';
    out += nomad_json(model::diff(&before->job, &versions[i]->job));
  }
  return out.size() > 1 ? out + "]" : "null";
}

awaitable<Response> job_versions(Api& api, Request request) {
  const std::string ns = namespace_of(request), id = request.param("id");
  const bool diffs = request.query.flag("diffs");
  std::vector<Scope> scopes{{Topic::jobs, ns + "/" + id}};
  const Gathering gather = [&](const tables::Tables& tables) {
    if (!tables.find_job(ns, id)) throw Error(Code::not_found, "job versions not found");
    auto versions = tables.job_versions(ns, id);
    auto fixed = compared_to(request, tables, ns, id, versions);
    const auto meta = fmt::format(R"(,"Index":{},"LastContact":0,"KnownLeader":true,"NextToken":"")",
                                  std::max<model::Revision>(tables.revision_of({Topic::jobs, ns + "/" + id}), 1));
    return [versions = std::move(versions), fixed = std::move(fixed), diffs, meta] {
      const auto whole = [](const auto& version) { return nomad_json(model::with_policies(version->job)); };
      return R"({"Versions":)" + json_list(versions, whole) + R"(,"Diffs":)" +
             (diffs || fixed ? diffs_of(versions, fixed) : "null") + meta + "}";
    };
  };
  co_return co_await answer_made(api, request, std::move(scopes), gather);
}

awaitable<Response> tag_version(Api& api, Request request) {
  const auto body = parse_body(request);
  server::TagVersion wanted{.ns = namespace_of(request), .id = request.param("id"), .name = request.param("name")};
  if (const auto* version = json::find_member(body, "Version"); version != nullptr && !version->is_null())
    wanted.version = json::decode<std::int64_t>(*version, "Version");
  if (const auto* text = json::find_member(body, "Description"); text != nullptr && !text->is_null())
    wanted.description = json::decode<std::string>(*text, "Description");
  co_await apply(api, request, wanted);
  const auto* tables = co_await api.server.read();
  const auto tagged = server::find_tagged(*tables, wanted.ns, wanted.id, wanted.name);
  boost::json::object out{{"Name", wanted.name}, {"Description", wanted.description}};
  if (tagged) out["TaggedTime"] = tagged->job.version_tag->tagged_time;
  co_return written(boost::json::serialize(out), tables->revision());
}

awaitable<Response> untag_version(Api& api, Request request) {
  server::UntagVersion wanted{namespace_of(request), request.param("id"), request.param("name")};
  co_await apply(api, request, std::move(wanted));
  const auto index = (co_await api.server.read())->revision();
  co_return written(boost::json::serialize(boost::json::object{{"Index", index}}), index);
}

/// Nomad's JobAction, with the place where each runs.
awaitable<Response> job_actions(Api& api, Request request) {
  const std::string ns = namespace_of(request), id = request.param("id");
  std::vector<Scope> scopes{{Topic::jobs, ns + "/" + id}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    const auto job = tables.find_job(ns, id);
    if (!job) throw Error(Code::not_found, "job not found");
    boost::json::array actions;
    for (const auto& group : job->groups) {
      for (const auto& task : group.tasks) {
        for (const auto& action : task.actions) {
          actions.push_back(boost::json::object{{"Name", action.name},
                                                {"Command", action.command},
                                                {"Args", json::to_value(action.args)},
                                                {"TaskName", task.name},
                                                {"TaskGroupName", group.name}});
        }
      }
    }
    return boost::json::serialize(actions);
  });
}

}  // namespace

void add_version_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/job/*id/versions", "job versions", right::ns(Capability::read_job), with(job_versions));
  routes.add("PUT|POST", "/v1/job/*id/versions/:name/tag", "tag job version", right::ns(Capability::tag_job_version),
             with(tag_version));
  routes.add("DELETE", "/v1/job/*id/versions/:name/tag", "untag job version", right::ns(Capability::tag_job_version),
             with(untag_version));
  routes.add("GET", "/v1/job/*id/actions", "job actions", right::ns(Capability::read_job), with(job_actions));
}

}  // namespace underway::api
