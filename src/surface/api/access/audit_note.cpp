#include "api/access/audit_note.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <set>

#include "api/access/right.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"

namespace underway::api {

using boost::json::value;
using tables::Scope;
using tables::Topic;

namespace {

constexpr std::size_t kMostDifferences = 60;
constexpr std::size_t kLongestValue = 64;

/// What lies below these is not shown, whoever's row it is.
constexpr std::array kHidden = {"Env",        "Templates", "Config",       "Meta",   "Payload", "Secret",
                                "SecretHash", "SecretID",  "Data",         "Sealed", "Items",   "Value",
                                "Submission", "Args",      "EmbeddedTmpl", "Hash",   "UsedKey", "Lock"};
constexpr std::array kNoise = {"CreateIndex", "ModifyIndex", "JobModifyIndex", "AllocModifyIndex",
                               "CreateTime",  "ModifyTime",  "SubmitTime",     "SecretHash"};

template <std::size_t N>
bool is_one_of(const std::array<const char*, N>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [&](const char* other) { return name == other; });
}

std::string shown(const value& v) {
  std::string text = boost::json::serialize(v);
  return text.size() <= kLongestValue ? text : fmt::format("({} bytes)", text.size());
}

class Differences {
 public:
  std::vector<std::string> out;

  void compare(const value& a, const value& b, const std::string& path, bool hidden) {
    if (a == b || out.size() >= kMostDifferences) return;
    if (a.is_object() && b.is_object()) return compare_objects(a.get_object(), b.get_object(), path, hidden);
    if (a.is_array() && b.is_array()) return compare_lists(a.get_array(), b.get_array(), path, hidden);
    if (path == "Rules" && a.is_string() && b.is_string()) return compare_lines(a.get_string(), b.get_string(), path);
    out.push_back(hidden ? path + ": changed" : fmt::format("{}: {} -> {}", path, shown(a), shown(b)));
  }

 private:
  void compare_objects(const boost::json::object& a, const boost::json::object& b, const std::string& path,
                       bool hidden) {
    std::set<std::string_view> names;
    for (const auto& member : a) names.insert(member.key());
    for (const auto& member : b) names.insert(member.key());
    for (const auto name : names) {
      if (is_one_of(kNoise, name)) continue;
      const auto* left = a.if_contains(name);
      const auto* right = b.if_contains(name);
      const std::string below = path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
      compare(left != nullptr ? *left : value(), right != nullptr ? *right : value(), below,
              hidden || is_one_of(kHidden, name));
    }
  }
  /// Lines that only one of them has, in their order.
  void compare_lines(std::string_view a, std::string_view b, const std::string& path) {
    const auto before = split(a, '\n'), after = split(b, '\n');
    const auto tell = [&](const auto& lines, const auto& others, char sign) {
      for (const auto& line : lines) {
        const bool in_both = std::find(others.begin(), others.end(), line) != others.end();
        if (!in_both && !trim(line).empty()) out.push_back(fmt::format("{}: {} {}", path, sign, trim(line)));
      }
    };
    tell(before, after, '-');
    tell(after, before, '+');
  }
  void compare_lists(const boost::json::array& a, const boost::json::array& b, const std::string& path, bool hidden) {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      compare(i < a.size() ? a[i] : value(), i < b.size() ? b[i] : value(), fmt::format("{}[{}]", path, i), hidden);
    }
  }
};

std::string in_namespace(const http::Request& request, const std::string& id) {
  return namespace_of(request) + "/" + id;
}

std::string_view name_of(Topic topic) {
  switch (topic) {
    case Topic::jobs:
      return "job";
    case Topic::nodes:
      return "node";
    case Topic::evaluations:
      return "evaluation";
    case Topic::allocations:
      return "allocation";
    case Topic::clusters:
      return "cluster";
    case Topic::hosts:
      return "host";
    case Topic::deployments:
      return "deployment";
    case Topic::join_tokens:
      return "join token";
    case Topic::variables:
      return "variable";
    case Topic::namespaces:
      return "namespace";
    case Topic::acl_policies:
      return "policy";
    case Topic::acl_tokens:
      return "token";
    case Topic::acl_roles:
      return "role";
    default:
      return "row";
  }
}

/// "job default/web".
std::string described(const Scope& subject) { return fmt::format("{} {}", name_of(subject.topic), subject.key); }

template <class Row>
std::optional<value> encoded(const Row& row) {
  if (!row) return std::nullopt;
  return json::to_value(*row);
}

/// What gives rights is told as a whole when it is made or deleted: its empty row.
std::optional<value> blank_of(Topic topic) {
  switch (topic) {
    case Topic::namespaces:
      return json::to_value(model::Namespace{});
    case Topic::acl_policies:
      return json::to_value(model::AclPolicy{});
    case Topic::acl_tokens:
      return json::to_value(model::AclToken{});
    case Topic::acl_roles:
      return json::to_value(model::AclRole{});
    default:
      return std::nullopt;
  }
}

model::Revision index_of(const std::optional<value>& row) {
  const auto* object = row ? row->if_object() : nullptr;
  const auto* index = object != nullptr ? object->if_contains("ModifyIndex") : nullptr;
  return index != nullptr && index->is_int64() ? index->get_int64() : 0;
}

}  // namespace

std::optional<Scope> subject_of(std::string_view pattern, const http::Request& request) {
  struct Known {
    std::string_view prefix;
    Topic topic;
    std::string_view parameter;
  };
  static constexpr Known kKnown[] = {{"/v1/node/:id", Topic::nodes, "id"},
                                     {"/v1/allocation/:id", Topic::allocations, "id"},
                                     {"/v1/client/allocation/:id", Topic::allocations, "id"},
                                     {"/v1/deployment/", Topic::deployments, "id"},
                                     {"/v1/acl/policy/:name", Topic::acl_policies, "name"},
                                     {"/v1/acl/token/:id", Topic::acl_tokens, "id"},
                                     {"/v1/acl/role/:id", Topic::acl_roles, "id"},
                                     {"/v1/namespace/:name", Topic::namespaces, "name"},
                                     {"/v1/underway/join-token/:id", Topic::join_tokens, "id"},
                                     {"/v1/underway/cluster/:name", Topic::clusters, "name"}};
  const auto parameter = [&](std::string_view name) -> std::string {
    for (const auto& [key, text] : request.params) {
      if (key == name) return text;
    }
    return {};
  };
  if (pattern.starts_with("/v1/job/*id")) return Scope{Topic::jobs, in_namespace(request, parameter("id"))};
  if (pattern == "/v1/var/*path") return Scope{Topic::variables, in_namespace(request, parameter("path"))};
  if (pattern.starts_with("/v1/underway/host/"))
    return Scope{Topic::hosts, parameter("cluster") + "/" + parameter("name")};
  for (const auto& known : kKnown) {
    if (pattern.starts_with(known.prefix)) return Scope{known.topic, parameter(known.parameter)};
  }
  return std::nullopt;
}

std::optional<value> row_of(const tables::Tables& tables, const Scope& scope) {
  switch (scope.topic) {
    case Topic::jobs: {
      const auto slash = scope.key.find('/');
      if (slash == std::string::npos) return std::nullopt;
      return encoded(tables.find_job(scope.key.substr(0, slash), scope.key.substr(slash + 1)));
    }
    case Topic::nodes:
      return encoded(tables.find_node(scope.key));
    case Topic::allocations:
      return encoded(tables.find_allocation(scope.key));
    case Topic::evaluations:
      return encoded(tables.find_evaluation(scope.key));
    default:
      break;
  }
  std::optional<value> found;
  tables::detail::for_each_plain([&]<class T>() {
    if (tables::PlainTable<T>::topic == scope.topic) found = encoded(tables.find<T>(scope.key));
  });
  return found;
}

std::vector<std::string> differences(const std::optional<value>& before, const std::optional<value>& after,
                                     const std::optional<value>& blank) {
  if (!before && !after) return {};
  Differences found;
  if (!before) found.out.emplace_back("made");
  if (!after) found.out.emplace_back("deleted");
  const auto& from = before ? before : blank;
  const auto& to = after ? after : blank;
  if (from && to) found.compare(*from, *to, "", false);
  return std::move(found.out);
}

async::awaitable<std::shared_ptr<void>> RowLocks::take(std::string subject) {
  for (auto it = taken_.find(subject); it != taken_.end(); it = taken_.find(subject)) {
    const auto others = it->second;
    co_await others->wait();
  }
  const auto done = std::make_shared<async::Event>();
  taken_.emplace(subject, done);
  auto give_back = [this, subject, done](void*) {
    taken_.erase(subject);
    done->notify_all();
  };
  co_return std::shared_ptr<void>(done.get(), std::move(give_back));
}

async::awaitable<void> AuditNote::about(Scope subject) {
  turn_.reset();  // of what the path names; two turns at once could wait for each other
  if (subject.topic != Topic::allocations && subject.topic != Topic::hosts)
    turn_ = co_await row_locks_.take(described(subject));
  before_ = row_of(tables_, subject);
  subject_ = std::move(subject);
}

void AuditNote::finish() {
  if (!subject_) return;
  const auto after = row_of(tables_, *subject_);
  record.subject = described(*subject_);
  record.before = index_of(before_);
  record.after = index_of(after);
  for (auto& line : differences(before_, after, blank_of(subject_->topic))) record.changes.push_back(std::move(line));
  turn_.reset();
}

}  // namespace underway::api
