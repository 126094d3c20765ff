// Paths, as Go's package path; Sprig's os… functions are the same on Linux.
#include "base/text.hpp"
#include "gotemplate/functions/library.hpp"

namespace underway::gotemplate {

namespace {

/// path.Clean: no "//", "." and "..", but for leading ".." of a relative path.
std::string clean(std::string_view path) {
  const bool absolute = path.starts_with('/');
  std::vector<std::string> parts;
  for (auto& part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    const bool up = part == "..";
    if (up && !parts.empty() && parts.back() != "..")
      parts.pop_back();
    else if (!up || !absolute)
      parts.push_back(std::move(part));
  }
  const std::string joined = join(parts, "/");
  if (absolute) return "/" + joined;
  return joined.empty() ? "." : joined;
}

std::string base(std::string_view path) {
  if (path.empty()) return ".";
  const std::size_t last = path.find_last_not_of('/');
  if (last == std::string_view::npos) return "/";
  path = path.substr(0, last + 1);
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string dir(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return clean(path.substr(0, slash == std::string_view::npos ? 0 : slash + 1));
}

std::string_view ext(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot);
}

}  // namespace

std::vector<Function> path_functions() {
  constexpr Origin kSprig = Origin::sprig;
  std::vector<Function> functions;
  for (const bool os : {false, true}) {
    const auto name = [os](std::string_view plain) {
      if (!os) return std::string(plain);
      return "os" + std::string(1, static_cast<char>(std::toupper(plain[0]))) + std::string(plain.substr(1));
    };
    functions.push_back({name("base"), "path string", "Its last part.", kSprig,
                         [](const Call& c) -> Value { return base(c.text(0)); }});
    functions.push_back({name("dir"), "path string", "All but its last part.", kSprig,
                         [](const Call& c) -> Value { return dir(c.text(0)); }});
    functions.push_back({name("ext"), "path string", "The last part's ending, with its dot.", kSprig,
                         [](const Call& c) -> Value { return ext(c.text(0)); }});
    functions.push_back({name("clean"), "path string", "Without \".\", \"..\" and double slashes.", kSprig,
                         [](const Call& c) -> Value { return clean(c.text(0)); }});
    functions.push_back({name("isAbs"), "path string", "Whether it begins with a slash.", kSprig,
                         [](const Call& c) -> Value { return c.text(0).starts_with('/'); }});
  }
  return functions;
}

}  // namespace underway::gotemplate
