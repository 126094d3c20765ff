#include "imagebuild/detail/run.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/process/process.hpp"

namespace underway::imagebuild {
namespace {

constexpr auto kLimit = std::chrono::hours(1);
constexpr std::size_t kLinesOfFailure = 12;

std::string last_lines(const std::string& text) {
  auto lines = split(trim(text), '\n');
  std::erase_if(lines, [](const auto& line) { return trim(line).empty(); });
  if (lines.size() > kLinesOfFailure) lines.erase(lines.begin(), lines.end() - kLinesOfFailure);
  return join(lines, "\n         ");
}

}  // namespace

std::string run(const std::vector<std::string>& argv, const std::string& what, const std::string& package,
                std::int64_t created, const std::vector<std::string>& environment) {
  os::SpawnSpec spec;
  spec.argv = argv;
  spec.env = {fmt::format("PATH={}", os::kDefaultPath),
              "LC_ALL=C.UTF-8",
              "DEBIAN_FRONTEND=noninteractive",
              "DEBCONF_NONINTERACTIVE_SEEN=true",
              fmt::format("SOURCE_DATE_EPOCH={}", created),
              "HOME=/root"};
  for (const char* name : {"http_proxy", "https_proxy", "no_proxy"})
    if (const char* value = std::getenv(name)) spec.env.push_back(fmt::format("{}={}", name, value));
  spec.env.insert(spec.env.end(), environment.begin(), environment.end());
  os::Output output;
  try {
    output = os::run_program(std::move(spec), kLimit);
  } catch (Error& error) {
    if (error.code() == Code::not_found) error.advise(fmt::format("install the package {}", package));
    throw;
  }
  if (!output.status.success())
    throw Error(Code::invalid, fmt::format("cannot {}", what))
        .because(fmt::format("{} ended with {}:\n         {}", argv.front(), os::to_string(output.status),
                             last_lines(output.err.empty() ? output.out : output.err)));
  return std::move(output.out);
}

}  // namespace underway::imagebuild
