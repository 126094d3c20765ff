#pragma once
/// @file
/// The steps of parse_job, for one file and for the files of a directory.

#include "jobspec/detail/variables.hpp"

namespace underway::jobspec::detail {

/// Reads the one `job` block of an opened body. A job is validated only when nothing was wrong up to there, `sound`
/// counting what came before: what stands in for broken parts would be found at fault as well. `complete` fills in what
/// the block leaves open, before that.
ParseResult read_job(const Opened& opened, const Inputs& inputs, bool sound,
                     const std::function<void(model::Job&)>& complete = {});
/// Canonicalizes and validates; problems are reported where `sites` knows their block, else at the job.
void check_job(model::Job& job, const Inputs& inputs, const std::map<std::string, hcl::Range>& blocks,
               hcl::Diagnostics& diagnostics);
/// The API's JSON; nothing when the text is none of it.
std::optional<ParseResult> parse_api_json(const std::string& text, const Inputs& inputs);
/// Runs `step`; an Error that it throws becomes a diagnostic at `range`.
void guard(hcl::Diagnostics& diagnostics, const hcl::Range& range, const std::function<void()>& step);

}  // namespace underway::jobspec::detail
