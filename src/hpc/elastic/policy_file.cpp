#include "elastic/policy_file.hpp"

#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"

namespace underway::elastic {

Policy parse_policy(std::string_view text, const std::string& name, hcl::Diagnostics& diagnostics) {
  const auto body = hcl::parse(std::string(text), name, diagnostics);
  Policy policy;
  const hcl::Context context;
  hcl::Diagnostics ignored;  // the whole is decoded below, with all its errors
  const auto wrapped = body.partial_content({.blocks = {{"elastic", {}}}}, ignored).first.blocks;
  if (wrapped.size() == 1)
    jobspec::decode(wrapped.front(), describe::structure_of<Policy>(), &policy, context, diagnostics);
  else
    jobspec::decode(body, describe::structure_of<Policy>(), &policy, context, diagnostics);
  for (auto& problem : problems(policy)) diagnostics.error(body.range(), std::move(problem));
  return policy;
}

}  // namespace underway::elastic
