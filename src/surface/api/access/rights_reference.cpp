#include "api/access/rights_reference.hpp"

#include "base/text.hpp"

namespace underway::api {
namespace {

constexpr const char* kRightsIntroduction =
    R"(# Rights

Every request needs a right. A caller has the rights of its token: those of the token's policies and of the policies of
its roles, or all of them when it is a management token. Without a token it has those of the policy `anonymous`, if there
is one. Root on the server machine, at the unix socket of the agent, has management rights without a token; with
`acl { trust_root_socket = false }` it has not. `acl/bootstrap` then is open to anybody, once, as it is with
`acl { network_bootstrap = true }`.

A policy is a file of rules:

```hcl
namespace "default" {
  policy       = "read"              # read, write, scale or deny
  capabilities = ["alloc-exec"]      # single ones, besides
  variables {
    path "apps/*" { capabilities = ["read", "list"] }
  }
}
namespace "team-*" { policy = "write" }   # the closest pattern counts alone
node     { policy = "read" }              # read, write or deny; so are agent, operator, quota
operator { policy = "read" }
```

Rules of several policies for the same name add up, and `deny` wins. What no rule names is not allowed. `operator` with
`write` includes a shell on every host: whoever has it can be root.

<!-- generated from the routes; UNDERWAY_ACCEPT=1 with the api tests rewrites it -->

## Routes

| methods | path | right |
| --- | --- | --- |
)";

std::string right_text(const GuardedRoute& route) {
  if (route.right.kind == Right::Kind::open) return fmt::format("none: {}", route.right.why);
  if (route.right.where == in_body) return "`" + spell(route.right) + "`, in the namespace that the body names";
  return "`" + spell(route.right) + "`";
}

std::string names(const acl::Capabilities& capabilities) {
  std::vector<std::string> out;
  for (const auto& name : acl::capability_names()) {
    if (capabilities.has(*acl::parse_capability(name))) out.push_back("`" + name + "`");
  }
  return join(out, ", ");
}

}  // namespace

std::string rights_reference(const std::vector<GuardedRoute>& routes) {
  std::string out = kRightsIntroduction;
  for (const auto& route : routes)
    out += fmt::format("| {} | `{}` | {} |\n", join(split(route.methods, '|'), ", "), route.pattern, right_text(route));
  out += "\n## What the policies of a namespace stand for\n\n| policy | capabilities |\n| --- | --- |\n";
  for (const char* policy : {"read", "write", "scale"})
    out += fmt::format("| `{}` | {} |\n", policy, names(*acl::expand_policy(policy)));
  return out;
}

}  // namespace underway::api
