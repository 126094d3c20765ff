#pragma once
/// @file
/// Artifacts are fetched by a program of their own, underway-fetch: what strangers packed never touches the agent, and
/// the memory it takes is given back. It gets one FetchRequest as JSON on standard input (headers may hold
/// credentials, which must not show in arguments), and on failure says why on standard output.

#include "node/artifact/fetch_request.hpp"
#include "node/runtime.hpp"
#include "node/template/template_renderer.hpp"

namespace underway::node {

/// Interpolates; takes go-getter's `checksum`, `archive` and `filename` from options and from the URL's query.
/// Errors: invalid, unsupported (git::, s3::, …), denied for a destination outside.
FetchRequest fetch_request(const model::Artifact& artifact, const TemplateInputs& inputs);
std::string fetch_input(const FetchRequest& request);
/// Throws the failure that the program told.
void check_fetched(const FetchRequest& request, const ProgramResult& result);

}  // namespace underway::node
