#include "base/text.hpp"
#include "hcl/detail/arguments.hpp"
#include "hcl/parse/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace underway::hcl {

namespace {

using detail::Arguments;
namespace fs = std::filesystem;

fs::path expanded(const std::string& path) {
  if (path != "~" && !path.starts_with("~/")) return path;
  const char* home = std::getenv("HOME");
  if (home == nullptr) throw ArgumentError(0, "'~' has no meaning: HOME is not set");
  return fs::path(home) / path.substr(std::min<std::size_t>(2, path.size()));
}

fs::path resolved(const fs::path& base, const Arguments& arguments) { return base / expanded(arguments.text(0)); }

std::string read(const fs::path& path, Budget& budget) {
  std::error_code failure;
  if (fs::is_directory(path, failure)) throw ArgumentError(0, fmt::format("'{}' is a directory", path.string()));
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw ArgumentError(0, fmt::format("cannot read '{}': {}", path.string(), errno_name(errno)));
  std::string text;
  char chunk[65536];
  while (in.read(chunk, sizeof chunk) || in.gcount() > 0) {
    budget.produce_string(static_cast<std::uint64_t>(in.gcount()));
    text.append(chunk, static_cast<std::size_t>(in.gcount()));
    if (text.size() > budget.limits().string_bytes) budget.produce_string(text.size());
  }
  return text;
}

Value read_text(const fs::path& base, const Arguments& arguments) {
  const fs::path path = resolved(base, arguments);
  std::string text = read(path, arguments.budget());
  if (!is_utf8(text)) throw ArgumentError(0, fmt::format("'{}' is not UTF-8: use filebase64()", path.string()));
  return text;
}

Value exists(const fs::path& base, const Arguments& arguments) {
  const fs::path path = resolved(base, arguments);
  std::error_code failure;
  const auto status = fs::status(path, failure);
  if (fs::is_directory(status)) throw ArgumentError(0, fmt::format("'{}' is a directory", path.string()));
  return fs::is_regular_file(status);
}

/// One path component: `*`, `?`, `[a-z]`, `[^x]`, `{a,b}` and `\` for a literal.
bool matches(std::string_view pattern, std::string_view text, unsigned depth) {
  if (depth > 64) return false;
  if (pattern.empty()) return text.empty();
  const char c = pattern[0];
  if (c == '*') {
    for (std::size_t skip = 0; skip <= text.size(); ++skip) {
      if (matches(pattern.substr(1), text.substr(skip), depth + 1)) return true;
    }
    return false;
  }
  if (c == '{') {
    const std::size_t close = pattern.find('}');
    if (close == std::string_view::npos) return false;
    for (const auto& choice : split(pattern.substr(1, close - 1), ',')) {
      if (matches(choice + std::string(pattern.substr(close + 1)), text, depth + 1)) return true;
    }
    return false;
  }
  if (text.empty()) return false;
  if (c == '[') {
    const std::size_t close = pattern.find(']', 2);
    if (close == std::string_view::npos) return false;
    const bool negated = pattern[1] == '^' || pattern[1] == '!';
    bool inside = false;
    for (std::size_t i = negated ? 2 : 1; i < close; ++i) {
      const bool range = i + 2 < close && pattern[i + 1] == '-';
      inside = inside || (range ? text[0] >= pattern[i] && text[0] <= pattern[i + 2] : text[0] == pattern[i]);
      if (range) i += 2;
    }
    return inside != negated && matches(pattern.substr(close + 1), text.substr(1), depth);
  }
  const std::size_t literal = c == '\\' && pattern.size() > 1 ? 1 : 0;
  return (c == '?' || pattern[literal] == text[0]) && matches(pattern.substr(literal + 1), text.substr(1), depth);
}

/// `**` stands for any number of directories.
bool matches_path(std::span<const std::string> pattern, std::span<const std::string> path) {
  if (pattern.empty()) return path.empty();
  if (pattern[0] == "**") {
    for (std::size_t skip = 0; skip <= path.size(); ++skip) {
      if (matches_path(pattern.subspan(1), path.subspan(skip))) return true;
    }
    return false;
  }
  return !path.empty() && matches(pattern[0], path[0], 0) && matches_path(pattern.subspan(1), path.subspan(1));
}

Value file_set(const fs::path& base, const Arguments& arguments) {
  const fs::path root = resolved(base, arguments);
  const auto pattern = split(arguments.text(1), '/');
  if (std::count(pattern.begin(), pattern.end(), "**") > 3) throw ArgumentError(1, "at most three '**' are possible");
  Value::List found;
  std::error_code failure;
  fs::recursive_directory_iterator walk(root, fs::directory_options::skip_permission_denied, failure);
  if (failure) throw ArgumentError(0, fmt::format("cannot list '{}': {}", root.string(), failure.message()));
  for (; walk != fs::recursive_directory_iterator(); walk.increment(failure)) {
    if (failure) throw ArgumentError(0, fmt::format("cannot list '{}': {}", root.string(), failure.message()));
    arguments.budget().step(16);
    std::error_code status_failure;
    if (!walk->is_regular_file(status_failure)) continue;
    const std::string relative = walk->path().lexically_relative(root).string();
    if (matches_path(pattern, split(relative, '/'))) {
      arguments.budget().produce(relative.size());
      found.emplace_back(relative);
    }
  }
  return Value::set(std::move(found));
}

/// The file as a template over `vars`. It cannot call templatefile itself, so files cannot include each other for ever.
Value render_file(const fs::path& base, const FunctionTable& inner, const Call& call) {
  const Arguments arguments(call);
  const fs::path path = resolved(base, arguments);
  Diagnostics diagnostics;
  const Expression expression = parse_template(read(path, arguments.budget()), path.string(), diagnostics);
  Context context = arguments.context();
  context.functions(inner).unknown_roots(UnknownRoots::error).clear();
  for (const auto& [name, value] : arguments.members(1)) context.set(name, value);
  std::optional<Value> value;
  if (!diagnostics.has_errors()) value = expression.evaluate(context, diagnostics);
  if (!value) {
    const Diagnostic& first = diagnostics.all().front();
    throw Error(Code::invalid, fmt::format("cannot render '{}'", path.string()))
        .because(fmt::format("{}: {}", first.range.where(), first.summary))
        .advise(first.suggestion);
  }
  const auto text = to_text(*value);
  if (!text) throw Error(Code::invalid, fmt::format("'{}' renders to no text", path.string()));
  return *text;
}

Value base_name(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  if (last == std::string::npos) return path.empty() ? "." : "/";
  const std::size_t slash = path.find_last_of('/', last);
  return path.substr(slash == std::string::npos ? 0 : slash + 1, slash == std::string::npos ? last + 1 : last - slash);
}

Value directory_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return fs::path(path.substr(0, slash + 1)).lexically_normal().parent_path().string().empty()
             ? std::string("/")
             : fs::path(path.substr(0, slash + 1)).lexically_normal().parent_path().string();
}

}  // namespace

const std::vector<std::string>& file_function_names() {
  static const std::vector<std::string> kNames = {"abspath",    "basename", "dirname",    "file",        "filebase64",
                                                  "fileexists", "fileset",  "pathexpand", "templatefile"};
  return kNames;
}

FunctionTable file_functions(fs::path base) {
  FunctionTable table = pure_functions();
  table = table.with("abspath", {"path", 1, 1, [](const Call& call) -> Value {
                                   return fs::absolute(expanded(Arguments(call).text(0))).lexically_normal().string();
                                 }});
  table = table.with("basename", {"path", 1, 1, [](const Call& call) { return base_name(Arguments(call).text(0)); }});
  table =
      table.with("dirname", {"path", 1, 1, [](const Call& call) { return directory_name(Arguments(call).text(0)); }});
  table =
      table.with("pathexpand",
                 {"path", 1, 1, [](const Call& call) -> Value { return expanded(Arguments(call).text(0)).string(); }});
  table = table.with("file", {"path", 1, 1, [base](const Call& call) { return read_text(base, Arguments(call)); }});
  table = table.with("filebase64", {"path", 1, 1, [base](const Call& call) -> Value {
                                      const Arguments arguments(call);
                                      return base64_encode(read(resolved(base, arguments), arguments.budget()));
                                    }});
  table = table.with("fileexists", {"path", 1, 1, [base](const Call& call) { return exists(base, Arguments(call)); }});
  table = table.with("fileset",
                     {"path, pattern", 2, 2, [base](const Call& call) { return file_set(base, Arguments(call)); }});
  return table.with("templatefile",
                    {"path, vars", 2, 2, [base, table](const Call& call) { return render_file(base, table, call); }});
}

}  // namespace underway::hcl
