#include "migrate/plan.hpp"

#include "acl/policy.hpp"
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "http/message.hpp"
#include "migrate/detail/job_steps.hpp"
#include "migrate/kinds.hpp"
#include "model/access/auth_method.hpp"
#include "model/access/namespace.hpp"
#include "model/access/quota.hpp"
#include "model/access/variable.hpp"
#include "model/node/node_pool.hpp"
#include "model/scheduler_configuration.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>

namespace underway::migrate {
namespace {

using boost::json::object;

/// Read and written again, so that both sides spell the same thing alike.
template <class T>
object spelled(const object& body, std::vector<std::string>& problems_found,
               json::Encoding encoding = json::Encoding::compact) {
  const T value = json::decode<T>(body);
  if constexpr (requires { problems(value); }) {
    for (auto& problem : problems(value)) problems_found.push_back(std::move(problem));
  }
  return json::to_value(value, encoding).get_object();
}

/// Limits are numbered by the server, and spelled in two ways.
object spelled_quota(const object& body, std::vector<std::string>& found) {
  auto quota = json::decode<model::Quota>(body);
  for (auto& problem : problems(quota)) found.push_back(std::move(problem));
  canonicalize(quota);
  for (auto& limit : quota.limits) limit.hash.clear();
  return json::to_value(quota, json::Encoding::compact).get_object();
}

/// Lists of names whose order says nothing.
void sort_by_name(object& body, std::string_view member) {
  auto* list = body.if_contains(member);
  if (list == nullptr || !list->is_array()) return;
  std::sort(list->get_array().begin(), list->get_array().end(),
            [](const auto& a, const auto& b) { return boost::json::serialize(a) < boost::json::serialize(b); });
}

/// Links to others by their names alone: some versions tell more, and ids are each server's own.
void link_by_name(object& body, std::string_view member) {
  auto* links = body.if_contains(member);
  if (links == nullptr || !links->is_array()) return;
  for (auto& link : links->get_array()) {
    if (link.is_object() && link.get_object().contains("Name")) link = object{{"Name", link.get_object().at("Name")}};
  }
}

/// Of what keeps, when it is changed, what the change leaves out.
constexpr auto kWhole = json::Encoding::full;

/// What there is to say of an object to a Nomad and to us, with everything that is wrong with it in `found`.
object settled(const Object& from, std::vector<std::string>& found) {
  const KindFacts& kind = facts(from.kind);
  object body = documented(kind, from.body);
  switch (from.kind) {
    case Kind::node_pool:
      return spelled<model::NodePool>(body, found);
    case Kind::name_space:
      return spelled<model::Namespace>(body, found);
    case Kind::policy:
      acl::parse_policy(json::decode<model::AclPolicy>(body).rules, from.name);
      return spelled<model::AclPolicy>(body, found);
    case Kind::role:
      link_by_name(body, "Policies");
      body = documented(kind, spelled<model::AclRole>(body, found, kWhole));
      sort_by_name(body, "Policies");
      return body;
    case Kind::token:
      link_by_name(body, "Roles");
      body = documented(kind, spelled<model::AclToken>(body, found, kWhole));
      sort_by_name(body, "Policies");
      sort_by_name(body, "Roles");
      return body;
    case Kind::auth_method:
      return documented(kind, spelled<model::AuthMethod>(body, found, kWhole));
    case Kind::binding_rule:
      return documented(kind, spelled<model::BindingRule>(body, found, kWhole));
    case Kind::scheduler:
      return spelled<model::SchedulerConfiguration>(body, found);
    case Kind::quota:
      return spelled_quota(body, found);
    case Kind::variable:
    case Kind::job:
      return body;
  }
  return body;
}

/// Documented, set, and unknown to our description: "NodePoolConfiguration".
std::vector<std::string> unknown_members(const KindFacts& kind, const object& body) {
  std::vector<std::string> out;
  if (kind.structure == nullptr) return out;
  const auto& structure = *kind.structure();
  for (const auto& [key, value] : documented(kind, body)) {
    const auto* field = structure.find_json(std::string(key));
    if (says_nothing(value)) continue;
    if (field == nullptr) {
      out.emplace_back(key);
    } else if (field->type->kind == describe::Kind::structure && value.is_object()) {
      for (const auto& [inner, inner_value] : value.get_object()) {
        if (!says_nothing(inner_value) && field->type->structure().find_json(std::string(inner)) == nullptr)
          out.push_back(fmt::format("{}.{}", std::string_view(key), std::string_view(inner)));
      }
    }
  }
  return out;
}

/// A secret that is not told, or told as a word that stands for it.
bool is_hidden(const boost::json::value* secret) {
  return secret == nullptr || !secret->is_string() || secret->get_string().empty() ||
         secret->get_string() == "redacted";
}

/// Takes the client secret of an auth method out, so that the rest can be compared: it goes into `secrets` if it is
/// told.
void take_secrets(object& method, object* secrets) {
  auto* config = method.if_contains("Config");
  if (config == nullptr || !config->is_object()) return;
  const auto* secret = config->get_object().if_contains("OIDCClientSecret");
  if (!is_hidden(secret) && secrets != nullptr) (*secrets)["OIDCClientSecret"] = *secret;
  config->get_object().erase("OIDCClientSecret");
}

/// Whether it proves itself by a secret that it does not have.
bool lacks_secret(const object& method, const object& secrets) {
  const auto* type = method.if_contains("Type");
  const auto* config = method.if_contains("Config");
  if (type == nullptr || *type != "OIDC" || config == nullptr || !config->is_object()) return false;
  const auto* assertion = config->get_object().if_contains("OIDCClientAssertion");
  return secrets.empty() && (assertion == nullptr || says_nothing(*assertion));
}

/// `over` on top of `under`; objects member by member.
object merged(object under, const object& over) {
  for (const auto& [key, value] : over) {
    auto* below = under.if_contains(key);
    if (below != nullptr && below->is_object() && value.is_object())
      *below = merged(below->get_object(), value.get_object());
    else
      under[key] = value;
  }
  return under;
}

std::vector<std::string> differing(const object& a, const object& b) {
  std::vector<std::string> names;
  const auto look = [&](const object& one, const object& other, bool both) {
    for (const auto& [key, value] : one) {
      const auto* found = other.if_contains(key);
      if (found == nullptr || (both && *found != value)) names.emplace_back(key);
    }
  };
  look(a, b, true);
  look(b, a, false);
  std::sort(names.begin(), names.end());
  return names;
}

class Planner {
 public:
  Planner(const Inventory& source, const Inventory& there, const PlanOptions& options)
      : source_(source), there_(there), options_(options) {}

  Plan run() {
    plan_.gaps = source_.gaps;
    for (const auto& from : source_.objects) {
      if (from.kind != Kind::job) plan_.steps.push_back(step_of(from));
    }
    detail::add_job_steps(plan_, source_, there_, options_);
    return std::move(plan_);
  }

 private:
  Step step_of(const Object& from) {
    Step step;
    step.kind = from.kind;
    step.ns = from.ns;
    step.name = from.name;
    try {
      if (const auto missing = there_.missing.find(from.kind); missing != there_.missing.end()) {
        step.reasons.push_back(fmt::format("here there are none: {}", missing->second));
      } else if (from.kind == Kind::variable) {
        variable_step(step, from);
      } else {
        plain_step(step, from);
      }
    } catch (const Error& error) {
      step.reasons.push_back(printable(error.one_line()));
    }
    if (!step.reasons.empty()) {
      step.action = Action::refuse;
      step.method.clear();
      step.body.clear();
    }
    return step;
  }

  void plain_step(Step& step, const Object& from) {
    const KindFacts& kind = facts(from.kind);
    for (const auto& name : unknown_members(kind, from.body))
      step.notes.push_back(fmt::format("{} is not known here and is left out", printable(name)));
    object wanted = settled(from, step.reasons), secrets;
    if (from.kind == Kind::auth_method) take_secrets(wanted, &secrets);
    if (from.kind == Kind::auth_method && lacks_secret(wanted, secrets))
      step.notes.emplace_back("its client secret is not told: give it anew with `underway acl auth-method update`");
    const Object* standing = there_.find(from.kind, from.ns, from.name);
    if (from.kind == Kind::token && standing == nullptr) take_secret(step, from.body, secrets);
    object now;
    if (standing != nullptr) {
      std::vector<std::string> ignored;
      now = settled(*standing, ignored);
      if (from.kind == Kind::auth_method) take_secrets(now, nullptr);
      step.differences = differing(wanted, now);
    }
    if (standing != nullptr && step.differences.empty()) return;
    step.action = standing == nullptr ? Action::create : Action::update;
    step.method = "PUT";
    step.target = target_of(kind, from, standing);
    // What is ours alone stays as it is here.
    object body = standing != nullptr ? merged(without_documented(kind, standing->body), wanted) : wanted;
    if (from.kind == Kind::token)
      body = merged(std::move(body), secrets);
    else if (!secrets.empty())
      body["Config"] = merged(body["Config"].get_object(), secrets);
    step.body = boost::json::serialize(body);
  }

  /// Who has a token goes on with it: that is all that there is to taking it along.
  static void take_secret(Step& step, const object& token, object& secrets) {
    if (const auto* secret = token.if_contains("SecretID"); !is_hidden(secret))
      secrets["SecretID"] = *secret;
    else
      step.reasons.emplace_back("its secret is not told: make it anew with `underway acl token create`");
  }

  static object without_documented(const KindFacts& kind, const object& body) {
    object rest;
    for (const auto& name : ours(kind, body)) {
      if (const auto dot = name.find('.'); dot == std::string::npos) {
        rest[name] = body.at(name);
      } else {
        auto& inner = rest[name.substr(0, dot)];
        if (!inner.is_object()) inner.emplace_object();
        inner.get_object()[name.substr(dot + 1)] = body.at(name.substr(0, dot)).as_object().at(name.substr(dot + 1));
      }
    }
    if (const auto* id = body.if_contains("ID")) rest["ID"] = *id;
    return rest;
  }

  static std::string target_of(const KindFacts& kind, const Object& from, const Object* standing) {
    std::string target(standing == nullptr ? kind.make : kind.change);
    if (!target.ends_with('/')) return target;
    if (kind.kind == Kind::role || kind.kind == Kind::binding_rule) {
      const auto* id = standing->body.if_contains("ID");
      if (id == nullptr || !id->is_string()) throw Error(Code::invalid, "it has no ID here");
      return target + http::percent_encode(std::string_view(id->get_string()));
    }
    return target + http::percent_encode(from.name);
  }

  void variable_step(Step& step, const Object& from) {
    const auto items = items_of(from);
    step.reasons = model::problems(from.name, items);
    if (from.body.contains("Lock") && !from.body.at("Lock").is_null())
      step.notes.emplace_back("somebody holds it there; the lock is not taken over");
    const Object* standing = there_.find(from.kind, from.ns, from.name);
    std::int64_t index = 0;
    if (standing != nullptr) {
      const auto now = items_of(*standing);
      if (now == items) return;
      for (const auto& [key, value] : items) {
        const auto at = now.find(key);
        if (at == now.end() || at->second != value) step.differences.push_back(printable(key));
      }
      for (const auto& [key, value] : now) {
        if (!items.contains(key)) step.differences.push_back(printable(key));
      }
      const auto* modified = standing->body.if_contains("ModifyIndex");
      index = modified != nullptr && modified->is_int64() ? modified->get_int64() : 0;
    }
    step.action = standing == nullptr ? Action::create : Action::update;
    step.method = "PUT";
    std::string path(facts(Kind::variable).make);
    const auto parts = split(from.name, '/');
    for (std::size_t i = 0; i < parts.size(); ++i) path += (i > 0 ? "/" : "") + http::percent_encode(parts[i]);
    step.target = fmt::format("{}?namespace={}&cas={}", path, http::percent_encode(from.ns), index);
    step.body =
        boost::json::serialize(object{{"Namespace", from.ns}, {"Path", from.name}, {"Items", from.body.at("Items")}});
  }

  /// Throws without saying what is in them.
  static model::StringMap items_of(const Object& variable) {
    model::StringMap out;
    const auto* items = variable.body.if_contains("Items");
    if (items == nullptr || !items->is_object()) throw Error(Code::invalid, "it is told without its items");
    for (const auto& [key, value] : items->get_object()) {
      if (!value.is_string()) throw Error(Code::invalid, "an item of it is no text");
      out[std::string(key)] = std::string(std::string_view(value.get_string()));
    }
    return out;
  }

  const Inventory& source_;
  const Inventory& there_;
  const PlanOptions& options_;
  Plan plan_;
};

}  // namespace

const describe::Enumeration& description(describe::Tag<Action>) {
  static const auto e = describe::enumeration<Action>("action");
  return e;
}

bool Plan::changes() const {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.changes(); });
}

bool Plan::troubles() const {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.troubles(); }) ||
         std::any_of(gaps.begin(), gaps.end(), [](const Gap& gap) { return gap.unread; });
}

Plan make_plan(const Inventory& source, const Inventory& there, const PlanOptions& options) {
  return Planner(source, there, options).run();
}

boost::json::value to_json(const Plan& plan) {
  boost::json::array steps, gaps;
  const auto lines = [](const std::vector<std::string>& from) { return boost::json::array(from.begin(), from.end()); };
  for (const auto& step : plan.steps) {
    object row{{"Kind", word(step.kind)},
               {"Namespace", step.ns},
               {"Name", step.name},
               {"Action", describe::spell(step.action)},
               {"Reasons", lines(step.reasons)},
               {"Notes", lines(step.notes)},
               {"Differences", lines(step.differences)}};
    if (step.kind == Kind::job) row["Runs"] = step.runs;
    if (step.diff) row["Diff"] = json::to_value(*step.diff);
    steps.push_back(std::move(row));
  }
  for (const auto& gap : plan.gaps)
    gaps.push_back(object{{"What", gap.what}, {"Why", gap.why}, {"Advice", gap.advice}, {"Unread", gap.unread}});
  return object{{"Steps", std::move(steps)}, {"NotTaken", std::move(gaps)}};
}

}  // namespace underway::migrate
