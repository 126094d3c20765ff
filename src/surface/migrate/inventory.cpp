#include "migrate/inventory.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "http/message.hpp"
#include "migrate/kinds.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace underway::migrate {
namespace {

constexpr std::size_t kMostObjects = 100'000;
constexpr std::size_t kMostPages = 2'000;
constexpr std::string_view kPerPage = "500";
constexpr std::size_t kShownOfAnAnswer = 200;

bool matches(const std::vector<std::string>& patterns, const std::string& text) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) { return glob_match(pattern, text); });
}

/// What binds to what: rules have no names.
std::string rule_name(const boost::json::object& rule) {
  const std::string bound = json::text_at(rule, "BindName"), selector = json::text_at(rule, "Selector");
  std::string name = fmt::format("{}: {}", json::text_at(rule, "AuthMethod"), json::text_at(rule, "BindType"));
  if (!bound.empty()) name += " " + bound;
  if (!selector.empty()) name += " if " + selector;
  return name;
}

/// Paths keep their slashes; everything else is one segment.
std::string target_of(const KindFacts& kind, const std::string& name, const std::string& ns) {
  std::string path(kind.one);
  if (kind.kind == Kind::variable) {
    const auto parts = split(name, '/');
    for (std::size_t i = 0; i < parts.size(); ++i) path += (i > 0 ? "/" : "") + http::percent_encode(parts[i]);
  } else {
    path += http::percent_encode(name);
  }
  return ns.empty() ? path : path + "?namespace=" + http::percent_encode(ns);
}

class Reader {
 public:
  Reader(const Send& send, const Selection& selection) : send_(send), selection_(selection) {}

  Inventory run() {
    for (const auto& kind : all_kinds()) {
      if (selection_.only_jobs && kind.kind != Kind::name_space && kind.kind != Kind::job) continue;
      read(kind);
    }
    if (selection_.only_jobs) {
      forget_other_namespaces();
    } else {
      note_volumes();
    }
    std::sort(out_.objects.begin(), out_.objects.end(), [](const Object& a, const Object& b) {
      return std::tie(a.kind, a.ns, a.name) < std::tie(b.kind, b.ns, b.name);
    });
    return std::move(out_);
  }

 private:
  boost::json::value parsed(const std::string& target, const Reply& reply) const {
    try {
      return json::parse(reply.body);
    } catch (Error& error) {
      error.while_doing(fmt::format("reading the answer to {}", printable(target)));
      throw;
    }
  }
  [[noreturn]] static void refuse_shape(const std::string& target, std::string_view expected) {
    throw Error(Code::invalid, fmt::format("the answer to {} is not {}", printable(target), expected))
        .advise("see whether the address is that of a Nomad's HTTP API, and of no proxy's page");
  }

  /// Nothing when the server refuses; `status` and `text` say how.
  std::optional<boost::json::value> find(const std::string& target, int& status, std::string& text) {
    const Reply reply = send_("GET", target, "");
    status = reply.status;
    text = printable(trim(reply.body).substr(0, kShownOfAnAnswer));
    if (reply.status != 200) return std::nullopt;
    return parsed(target, reply);
  }

  /// All pages.
  std::optional<std::vector<boost::json::object>> list(const std::string& path, int& status, std::string& text) {
    std::vector<boost::json::object> rows;
    std::set<std::string> seen;
    std::string token;
    const char separator = path.find('?') == std::string::npos ? '?' : '&';
    for (std::size_t page = 0; page < kMostPages; ++page) {
      std::string target = fmt::format("{}{}per_page={}", path, separator, kPerPage);
      if (!token.empty()) target += "&next_token=" + http::percent_encode(token);
      const Reply reply = send_("GET", target, "");
      status = reply.status;
      text = printable(trim(reply.body).substr(0, kShownOfAnAnswer));
      if (status != 200) return std::nullopt;
      const auto value = parsed(target, reply);
      if (value.is_null()) return rows;  // Go's empty list
      if (!value.is_array()) refuse_shape(target, "a list");
      for (const auto& row : value.get_array()) {
        if (!row.is_object()) refuse_shape(target, "a list of objects");
        rows.push_back(row.get_object());
        if (rows.size() > kMostObjects) refuse_shape(target, fmt::format("a list of at most {} things", kMostObjects));
      }
      token = reply.next_token;
      if (token.empty()) return rows;
      if (!seen.insert(token).second) refuse_shape(target, "a list that ends: a page came twice");
    }
    refuse_shape(path, fmt::format("a list of at most {} pages", kMostPages));
  }

  void read(const KindFacts& kind) {
    const bool spaced = kind.kind == Kind::variable || kind.kind == Kind::job;
    const std::string path = std::string(kind.list) + (spaced ? "?namespace=*" : "");
    int status = 0;
    std::string text;
    if (kind.kind == Kind::scheduler) return read_scheduler(kind);
    const auto rows = list(path, status, text);
    if (!rows) return note_refusal(kind, status, text);
    if (kind.kind == Kind::job) count_children(*rows);
    for (const auto& row : *rows) {
      const std::string name =
          kind.kind == Kind::binding_rule ? json::text_at(row, "ID") : json::text_at(row, kind.key);
      const std::string ns = spaced ? json::text_at(row, "Namespace") : std::string();
      if (name.empty() || (spaced && ns.empty()))
        refuse_shape(path,
                     fmt::format("a list of {}s: one has no {}", kind.word, name.empty() ? kind.key : "Namespace"));
      if (wanted(kind, row, ns, name)) read_one(kind, row, ns, name);
    }
  }

  void read_scheduler(const KindFacts& kind) {
    int status = 0;
    std::string text;
    const auto value = find(std::string(kind.list), status, text);
    if (!value) return note_refusal(kind, status, text);
    const auto* object = value->if_object();
    const auto* config = object != nullptr ? object->if_contains("SchedulerConfig") : nullptr;
    if (config == nullptr || !config->is_object()) refuse_shape(std::string(kind.list), "a scheduler configuration");
    out_.objects.push_back({kind.kind, "", "scheduler", config->get_object()});
  }

  bool wanted(const KindFacts& kind, const boost::json::object& row, const std::string& ns, const std::string& name) {
    switch (kind.kind) {
      case Kind::node_pool:
        return name != "default" && name != "all";  // they always are
      case Kind::name_space:
        return matches(selection_.namespaces, name);
      case Kind::token:
        return is_carried(row);
      case Kind::variable:
        return matches(selection_.namespaces, ns) && beside(kind.kind, ns, name);
      case Kind::job:
        // What a periodic or parameterized job has started comes with it.
        return json::text_at(row, "ParentID").empty() && matches(selection_.namespaces, ns) &&
               matches(selection_.jobs, name) && beside(kind.kind, ns, name);
      default:
        return true;
    }
  }
  bool beside(Kind kind, const std::string& ns, const std::string& name) const {
    return selection_.beside == nullptr || selection_.beside->find(kind, ns, name) != nullptr;
  }

  void read_one(const KindFacts& kind, const boost::json::object& row, const std::string& ns, const std::string& name) {
    Object object{kind.kind, ns, name, row};
    if (!kind.one.empty()) {
      int status = 0;
      std::string text;
      auto whole = find(target_of(kind, name, ns), status, text);
      if (status == 404) return;  // gone since it was listed
      if (!whole) {
        out_.gaps.push_back({fmt::format("{} '{}'", kind.word, printable(name)),
                             fmt::format("the server answers {}: {}", status, text), "", true});
        return;
      }
      if (!whole->is_object()) refuse_shape(target_of(kind, name, ns), fmt::format("a {}", kind.word));
      object.body = std::move(whole->get_object());
      if (json::text_at(object.body, kind.key) != name)
        refuse_shape(target_of(kind, name, ns), fmt::format("the {} that was asked for", kind.word));
    }
    if (kind.kind == Kind::binding_rule) object.name = rule_name(object.body);
    if (kind.kind == Kind::job) complete_job(object);
    out_.objects.push_back(std::move(object));
  }

  /// Nothing when it is not told as we know it: the job itself is what counts.
  static std::optional<model::JobSubmission> find_submission(const boost::json::value& json) {
    try {
      return json::decode<model::JobSubmission>(json, "Submission");
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  void complete_job(Object& object) {
    const auto* version = object.body.if_contains("Version");
    const std::int64_t number = version != nullptr && version->is_int64() ? version->get_int64() : 0;
    const std::string job = std::string(facts(Kind::job).one) + http::percent_encode(object.name);
    const std::string ns = "namespace=" + http::percent_encode(object.ns);
    int status = 0;
    std::string text;
    // The file as it was written is kept since Nomad 1.6, and only if it was small enough: without it there is the job.
    const auto submission = find(fmt::format("{}/submission?version={}&{}", job, number, ns), status, text);
    if (submission && submission->is_object()) object.submission = find_submission(*submission);
    if (!selection_.counts_allocations) return;
    const auto allocations = list(fmt::format("{}/allocations?{}", job, ns), status, text);
    if (!allocations) {
      out_.gaps.push_back({fmt::format("the allocations of job '{}'", printable(object.name)),
                           fmt::format("the server answers {}: {}", status, text), "", true});
      object.live = 1;  // as good as running: nobody said that it is not
      return;
    }
    for (const auto& allocation : *allocations) {
      const std::string client = json::text_at(allocation, "ClientStatus");
      if (client != "complete" && client != "failed" && client != "lost") ++object.live;
    }
    if (const auto children = children_.find({object.ns, object.name}); children != children_.end())
      object.live += children->second;
  }

  void count_children(const std::vector<boost::json::object>& rows) {
    for (const auto& row : rows) {
      const std::string parent = json::text_at(row, "ParentID");
      if (!parent.empty() && json::text_at(row, "Status") != "dead")
        ++children_[{json::text_at(row, "Namespace"), parent}];
    }
  }

  /// With jobs come those that they are in.
  void forget_other_namespaces() {
    std::set<std::string> used;
    for (const auto& object : out_.objects) {
      if (object.kind == Kind::job) used.insert(object.ns);
    }
    std::erase_if(out_.objects,
                  [&](const Object& object) { return object.kind == Kind::name_space && !used.contains(object.name); });
  }

  /// Without ACLs, quotas (Nomad's Enterprise) or node pools (before 1.6) there is nothing of the kind.
  void note_refusal(const KindFacts& kind, int status, const std::string& text) {
    const bool is_off = status == 404 || status == 405 || status == 501 || text.find("ACL support disabled") == 0;
    out_.missing[kind.kind] = fmt::format("the server answers {}: {}", status, text);
    if (is_off) return;
    out_.gaps.push_back({fmt::format("every {}", kind.word), out_.missing[kind.kind],
                         status == 403 ? "use a management token" : "", true});
  }

  /// Whether a token keeps its ids where it is taken to; if not, that is told.
  bool is_carried(const boost::json::object& token) {
    const auto* end = token.if_contains("ExpirationTime");
    if (!selection_.tokens)
      note_token(token, "a token's secret is not told again");
    else if (json::text_at(token, "Type") == "management")
      note_token(token, "management tokens are not taken from elsewhere");
    else if (end != nullptr && !says_nothing(*end))
      note_token(token, "it ends by itself");
    else
      return true;
    return false;
  }

  void note_token(const boost::json::object& token, std::string why) {
    const std::string type = json::text_at(token, "Type"), name = json::text_at(token, "Name");
    std::string flags = fmt::format("-type {}", type);
    if (const auto* policies = token.if_contains("Policies"); policies != nullptr && policies->is_array()) {
      for (const auto& policy : policies->get_array()) {
        if (policy.is_string()) flags += fmt::format(" -policy '{}'", std::string_view(policy.get_string()));
      }
    }
    if (const auto* roles = token.if_contains("Roles"); roles != nullptr && roles->is_array()) {
      for (const auto& role : roles->get_array()) {
        if (role.is_object()) flags += fmt::format(" -role-name '{}'", json::text_at(role.get_object(), "Name"));
      }
    }
    out_.gaps.push_back({printable(fmt::format("token '{}' (accessor {})", name, json::text_at(token, "AccessorID"))),
                         std::move(why),
                         printable(fmt::format("make it anew: acl token create -name '{}' {}", name, flags))});
  }

  void note_volumes() {
    for (const std::string type : {"csi", "host"}) {
      int status = 0;
      std::string text;
      const auto volumes = list("/v1/volumes?namespace=*&type=" + type, status, text);
      if (!volumes) continue;
      for (const auto& volume : *volumes) {
        const std::string name =
            json::text_at(volume, "Name").empty() ? json::text_at(volume, "ID") : json::text_at(volume, "Name");
        if (!matches(selection_.namespaces, json::text_at(volume, "Namespace"))) continue;
        out_.gaps.push_back({printable(fmt::format("{} volume '{}'", type, name)),
                             type == "csi" ? "CSI is not part of Underway" : "what is in it lies on its node",
                             "declare a host volume of this name where its data are"});
      }
    }
  }

  const Send& send_;
  const Selection& selection_;
  Inventory out_;
  std::map<std::pair<std::string, std::string>, std::int64_t> children_;  ///< by namespace and parent
};

}  // namespace

const Object* Inventory::find(Kind kind, const std::string& ns, const std::string& name) const {
  const auto wanted = std::tie(kind, ns, name);
  const auto at = std::lower_bound(objects.begin(), objects.end(), wanted, [](const Object& object, const auto& key) {
    return std::tie(object.kind, object.ns, object.name) < key;
  });
  return at != objects.end() && std::tie(at->kind, at->ns, at->name) == wanted ? &*at : nullptr;
}

Inventory read_inventory(const Send& send, const Selection& selection) { return Reader(send, selection).run(); }

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return is_utf8(out) ? out : std::string("(not UTF-8)");
}

}  // namespace underway::migrate
