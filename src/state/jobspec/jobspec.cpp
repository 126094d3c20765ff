#include "jobspec/jobspec.hpp"

#include "base/text.hpp"
#include "hcl/parse/parser.hpp"
#include "jobspec/detail/job_dialect.hpp"
#include "jobspec/detail/parse.hpp"

namespace underway::jobspec {
namespace detail {
namespace {

/// The key or the block that a problem is about: the longest known beginning of its path.
hcl::Range place_of(const model::Problem& problem, const std::map<std::string, hcl::Range>& blocks) {
  const auto key = std::string_view(problem.message).substr(0, problem.message.find_first_of(":[ "));
  for (auto part = key; part.starts_with("config."); part = part.substr(0, part.rfind('.'))) {
    if (const auto it = blocks.find(fmt::format("{} {}", problem.path, part)); it != blocks.end()) return it->second;
  }
  for (std::string path = problem.path; !path.empty();) {
    if (const auto it = blocks.find(path); it != blocks.end()) return it->second;
    const std::size_t last = path.rfind(" '");
    if (last == std::string::npos) break;
    path.resize(last);
    const std::size_t word = path.rfind(' ');
    path.resize(word == std::string::npos ? 0 : word);
  }
  const auto job = blocks.find("");
  return job == blocks.end() ? hcl::Range{} : job->second;
}

}  // namespace

void guard(hcl::Diagnostics& diagnostics, const hcl::Range& range, const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& e) {
    diagnostics.error(range, e.message(), join(e.reasons(), ", "), e.advice());
  }
}

void check_job(model::Job& job, const Inputs& inputs, const std::map<std::string, hcl::Range>& blocks,
               hcl::Diagnostics& diagnostics) {
  if (!inputs.canonicalize) return;
  job.canonicalize();
  if (!inputs.validate) return;
  for (const auto& problem : model::validate(job, inputs.limits))
    diagnostics.error(place_of(problem, blocks), problem.text());
}

ParseResult read_job(const Opened& opened, const Inputs& inputs, bool sound,
                     const std::function<void(model::Job&)>& complete) {
  ParseResult result;
  hcl::Diagnostics& diagnostics = result.diagnostics;
  const hcl::Schema schema{.blocks = {{"job", {"id"}}}};
  const hcl::Content content = opened.rest.content(schema, diagnostics, "the file");
  const auto jobs = content.blocks_of("job");
  if (jobs.empty()) {
    if (!diagnostics.has_errors())
      diagnostics.error(opened.rest.missing_range(), "the file declares no job", "", "add job \"name\" { … }");
    return result;
  }
  for (std::size_t i = 1; i < jobs.size(); ++i)
    diagnostics.error(jobs[i]->range, "a second job in one file",
                      fmt::format("the first is at {}", jobs[0]->range.where()), "give each job a file of its own");
  result.place = jobs[0]->range;
  JobSites sites;
  const JobDialect dialect(sites);
  model::Job job;
  decode(*jobs[0], describe::structure_of<model::Job>(), &job, opened.context, diagnostics, dialect.extensions(),
         inputs.canonicalize ? nullptr : &result.given);
  for (auto& [name, range] : sites.dependencies) result.dependencies.push_back({name, range});
  if (complete && !diagnostics.has_errors()) complete(job);
  if (sound && !diagnostics.has_errors()) check_job(job, inputs, sites.blocks, diagnostics);
  if (sound && !diagnostics.has_errors()) result.job = std::move(job);
  return result;
}

}  // namespace detail

ParseResult parse_job(std::string text, std::string name, const Inputs& inputs) {
  if (trim(text).starts_with('{')) {
    if (auto result = detail::parse_api_json(text, inputs)) return std::move(*result);
  }
  ParseResult result;
  hcl::Diagnostics found;
  detail::guard(found, {}, [&] {
    const detail::GivenValues values(inputs, found);
    hcl::Body body = hcl::parse(std::move(text), std::move(name), found, hcl::Lines::strict);
    const auto opened = detail::open_body(std::move(body), values, detail::base_context(inputs), found);
    if (!found.has_errors()) values.check_known(opened.names, found);
    result = detail::read_job(opened, inputs, !found.has_errors());
  });
  found.append(std::move(result.diagnostics));
  result.diagnostics = std::move(found);
  return result;
}

}  // namespace underway::jobspec
