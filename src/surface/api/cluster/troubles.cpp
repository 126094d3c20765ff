#include "api/cluster/troubles.hpp"

namespace underway::api {
namespace {

wire::Attention attention_for(std::string_view what, std::string_view meaning, const server::Trouble& trouble) {
  return {fmt::format("the server cannot write its {} since {}: {}", what, format_time(trouble.since), meaning),
          trouble.error.one_line(), trouble.error.advice()};
}

}  // namespace

Troubles troubles_of(Api& api) {
  Troubles out;
  if (const auto& trouble = api.server.writer().trouble()) {
    out.writable = false;
    out.attention.push_back(attention_for("state", "changes are refused, what runs goes on", *trouble));
  }
  if (const auto trouble = api.audit == nullptr ? std::nullopt : api.audit->trouble()) {
    const bool refuses = api.audit->refuses();
    out.writable = out.writable && !refuses;
    out.attention.push_back(attention_for(
        "audit log", refuses ? "changes are refused, what runs goes on" : "changes are made without a line", *trouble));
  }
  return out;
}

}  // namespace underway::api
