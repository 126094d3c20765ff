#include "jobspec/template_warnings.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/parse.hpp"

#include <algorithm>
#include <span>

namespace underway::jobspec {

namespace {

constexpr std::size_t kMost = 50;

/// What a template asks is told once for each of these.
constexpr std::string_view kKeys[] = {"key", "keyExists", "keyOrDefault", "ls", "safeLs", "tree", "safeTree"};
constexpr std::string_view kSecrets[] = {"secret", "secrets"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

struct Place {
  const model::TaskGroup& group;
  const model::Task& task;
  const model::Template& entry;

  std::string at(std::size_t line, std::size_t column) const {
    return fmt::format("group '{}', task '{}', template '{}', {}:{}", group.name, task.name, entry.destination, line,
                       column);
  }
};

std::string_view line_at(std::string_view text, std::size_t position) {
  position = std::min(position, text.size());
  const std::size_t newline = text.substr(0, position).rfind('\n');
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  return text.substr(begin, text.find('\n', position) - begin);
}

/// Nothing where the node fills something in before it reads the line.
std::optional<std::string> syntax_error(const Place& place, const Error& error, std::size_t position) {
  const std::string& text = place.entry.data;
  if (line_at(text, position).find("${") != std::string_view::npos) return std::nullopt;
  const std::string_view before = std::string_view(text).substr(0, std::min(position, text.size()));
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  // "template: t:LINE: …"
  std::string message = error.message();
  constexpr std::string_view kPrefix = "template: t:";
  if (message.starts_with(kPrefix)) {
    const std::size_t end = message.find(": ", kPrefix.size());
    if (end != std::string::npos) message = message.substr(end + 2);
  }
  std::string out = fmt::format(
      "{}: {}", place.at(1 + static_cast<std::size_t>(std::ranges::count(before, '\n')), column + 1), message);
  if (!error.advice().empty()) out += "; " + error.advice();
  return out;
}

std::string about_keys(const std::string& function, const std::string& job) {
  return fmt::format(
      "`{0}` asks Consul; here it reads the items of variable 'nomad/jobs/{1}', and of those below it that "
      "the task may read: `underway var put nomad/jobs/{1} app/x=…` makes the key app/x; or use "
      "`nomadVar`, or name a Consul in `client {{ template {{ compat {{ consul {{ … }} }} }} }}` of the agents",
      function, job);
}

std::string about_secrets(const std::string& function, const std::string& job) {
  return fmt::format(
      "`{0}` asks Vault; here it reads the items of variable 'nomad/jobs/{1}', and of those below it that "
      "the task may read: `underway var put nomad/jobs/{1} secret/data/db/password=…` makes the secret "
      "secret/data/db; or use `nomadVar`, or name a Vault in `client {{ template {{ compat {{ vault {{ … }} "
      "}} }} }}` of the agents",
      function, job);
}

void look_at_functions(const Place& place, const std::vector<gotemplate::FunctionUse>& uses, const std::string& job,
                       std::vector<TemplateWarning>& out) {
  using About = TemplateWarning::About;
  std::vector<std::string> refused;
  bool keys = false, secrets = false;
  for (const auto& use : uses) {
    const auto& function = *use.function;
    const std::string at = place.at(use.line, use.column);
    if (function.origin == gotemplate::Origin::refused && std::ranges::find(refused, function.name) == refused.end()) {
      refused.push_back(function.name);
      out.push_back(
          {About::the_template, fmt::format("{}: function `{}` is refused: {}", at, function.name, function.meaning)});
    } else if (is_one_of(function.name, kKeys) && !std::exchange(keys, true)) {
      out.push_back({About::keys, at + ": " + about_keys(function.name, job)});
    } else if (is_one_of(function.name, kSecrets) && !std::exchange(secrets, true)) {
      out.push_back({About::secrets, at + ": " + about_secrets(function.name, job)});
    }
  }
}

void look_at(const Place& place, const std::string& job, std::vector<TemplateWarning>& out) {
  const auto& entry = place.entry;
  if (entry.data.empty()) return;
  std::size_t position = 0;
  try {
    const auto parsed = gotemplate::parse("t", entry.data, gotemplate::job_functions(),
                                          {entry.left_delimiter, entry.right_delimiter, true, &position});
    look_at_functions(place, gotemplate::functions_in(parsed), job, out);
  } catch (const Error& error) {
    if (auto told = syntax_error(place, error, position))
      out.push_back({TemplateWarning::About::the_template, std::move(*told)});
  }
}

}  // namespace

std::vector<TemplateWarning> template_warnings(const model::Job& job) {
  std::vector<TemplateWarning> out;
  for (const auto& group : job.groups)
    for (const auto& task : group.tasks)
      for (const auto& entry : task.templates) {
        if (out.size() < kMost) look_at({group, task, entry}, job.id, out);
      }
  if (out.size() > kMost) out.resize(kMost);
  return out;
}

std::vector<std::string> texts_of(const std::vector<TemplateWarning>& warnings, const TemplateOffers& offers) {
  using About = TemplateWarning::About;
  std::vector<std::string> out;
  for (const auto& warning : warnings) {
    const bool offered =
        (warning.about == About::keys && offers.keys) || (warning.about == About::secrets && offers.secrets);
    if (!offered) out.push_back(warning.text);
  }
  return out;
}

std::string warnings_text(const std::vector<std::string>& warnings) {
  if (warnings.empty()) return {};
  std::string out = fmt::format("{} warning(s):\n", warnings.size());
  for (const auto& warning : warnings) out += "\n* " + warning;
  return out;
}

}  // namespace underway::jobspec
