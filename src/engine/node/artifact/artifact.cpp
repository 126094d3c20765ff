#include "node/artifact/artifact.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"

namespace underway::node {

namespace {

/// Takes `name=value` out of the query of a URL.
std::string take_query(std::string& url, std::string_view name) {
  const std::size_t query = url.find('?');
  if (query == std::string::npos) return {};
  std::string taken;
  std::vector<std::string> kept;
  for (std::string& part : split(std::string_view(url).substr(query + 1), '&')) {
    if (part.starts_with(name) && part.size() > name.size() && part[name.size()] == '=')
      taken = part.substr(name.size() + 1);
    else
      kept.push_back(std::move(part));
  }
  url.resize(query);
  if (!kept.empty()) url += "?" + join(kept, "&");
  return taken;
}

}  // namespace

FetchRequest fetch_request(const model::Artifact& artifact, const TemplateInputs& in) {
  FetchRequest request;
  request.source = in.interpolation.apply(artifact.source);
  if (const std::size_t forced = request.source.find("::"); forced != std::string::npos && forced < 10)
    throw Error(Code::unsupported,
                fmt::format("artifacts cannot be fetched with '{}'", request.source.substr(0, forced)))
        .because("only paths, file://, http:// and https:// are supported")
        .advise("offer the same files as an archive over https");
  const std::size_t scheme = request.source.find("://");
  const std::string name = scheme == std::string::npos ? "" : request.source.substr(0, scheme);
  if (!name.empty() && name != "file" && name != "http" && name != "https")
    throw Error(Code::unsupported, fmt::format("artifacts cannot be fetched from '{}' addresses", name))
        .because("only paths, file://, http:// and https:// are supported");
  if (name.empty() && !request.source.starts_with('/'))
    throw Error(Code::invalid,
                fmt::format("artifact source '{}' is neither an absolute path nor a URL", request.source));

  for (const std::string_view option : {"checksum", "archive", "filename"}) {
    std::string value = name.starts_with("http") ? take_query(request.source, option) : std::string{};
    if (const auto given = artifact.options.find(std::string(option)); given != artifact.options.end())
      value = in.interpolation.apply(given->second);
    (option == "checksum" ? request.checksum : option == "archive" ? request.archive : request.filename) = value;
  }
  for (const auto& [key, value] : artifact.headers) request.headers[key] = in.interpolation.apply(value);
  request.allocation_root = in.allocation_root;
  const std::string destination = in.interpolation.apply(artifact.destination);
  request.destination =
      resolve_destination(destination.empty() ? "local/" : destination, in.task.name, in.allocation_root, in.view);
  request.staging = in.task.name + "/private";
  request.mode = artifact.mode.empty() ? "any" : artifact.mode;
  if (request.mode != "any" && request.mode != "file" && request.mode != "dir")
    throw Error(Code::invalid, fmt::format("artifact mode is any, file or dir, not '{}'", request.mode));
  request.insecure = artifact.insecure;
  request.chown = artifact.chown;
  request.uid = in.owner.uid;
  request.gid = in.owner.gid;
  request.disk_bytes = in.disk_mb << 20;
  return request;
}

std::string fetch_input(const FetchRequest& request) { return json::encode(request, json::Encoding::compact); }

void check_fetched(const FetchRequest& request, const ProgramResult& result) {
  if (result.success()) return;
  Error error(result.timed_out ? Code::timeout : Code::unavailable,
              fmt::format("failed to download artifact '{}'", request.source));
  if (result.timed_out)
    error.because("it took longer than 30 minutes");
  else if (result.signal != 0)
    error.because(fmt::format("underway-fetch was killed by signal {}", result.signal));
  else
    error.because(result.output.empty() ? fmt::format("underway-fetch ended with exit code {}", result.exit_code)
                                        : std::string(trim(result.output)));
  throw error;
}

}  // namespace underway::node
