#include "imagebuild/definition.hpp"

#include "base/text.hpp"
#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"
#include "jobspec/reference.hpp"

#include <set>

namespace underway::imagebuild {
namespace {

/// Which attributes of `from` have a meaning for which base.
struct Meaning {
  std::string_view attribute;
  std::vector<Base> bases;
};

const std::vector<Meaning>& meanings() {
  static const std::vector<Meaning> all = {{"mirrors", {Base::debian, Base::rpm}},
                                           {"components", {Base::debian}},
                                           {"snapshot", {Base::debian}},
                                           {"keyring", {Base::debian, Base::rpm}},
                                           {"variant", {Base::debian}},
                                           {"trusted", {Base::debian, Base::rpm}},
                                           {"digest", {Base::image}},
                                           {"tag", {Base::oci}},
                                           {"strip", {Base::tar}}};
  return all;
}

/// Where a name stands in what was written: its attribute's value, else the header.
hcl::Range place(const jobspec::Site& site, std::string_view attribute) {
  const auto* found = site.content.find(attribute);
  return found == nullptr ? site.header : found->expression.range();
}

void check_from(void* object, const jobspec::Site& site) {
  const auto& from = *static_cast<const From*>(object);
  for (const auto& [attribute, bases] : meanings()) {
    if (site.content.find(attribute) == nullptr || std::find(bases.begin(), bases.end(), from.base) != bases.end())
      continue;
    site.diagnostics.error(site.content.find(attribute)->name_range,
                           fmt::format("'{}' has no meaning in `from {}`", attribute, describe::spell(from.base)));
  }
  if (from.source.empty()) site.diagnostics.error(site.header, "`from` has an empty source");
  static const std::vector<std::string> kVariants = {"extract",  "custom",    "essential", "apt",
                                                     "required", "important", "minbase",   "standard"};
  if (std::find(kVariants.begin(), kVariants.end(), from.variant) == kVariants.end())
    site.diagnostics.error(place(site, "variant"), fmt::format("'{}' is no variant", from.variant),
                           "there are " + join(kVariants, ", "), hcl::suggest(from.variant, kVariants));
  const auto stamp = [&] {
    const std::string& t = from.snapshot;
    return t.size() == 16 && t[8] == 'T' && t[15] == 'Z' &&
           (t.substr(0, 8) + t.substr(9, 6)).find_first_not_of("0123456789") == std::string::npos;
  };
  if (!from.snapshot.empty() && !stamp())
    site.diagnostics.error(place(site, "snapshot"), fmt::format("'{}' is no time of a snapshot", from.snapshot),
                           "it is written as snapshot.debian.org does: 20241101T000000Z");
  if (!from.digest.empty() && (!from.digest.starts_with("sha256:") || from.digest.size() != 71))
    site.diagnostics.error(place(site, "digest"), fmt::format("'{}' is no digest", from.digest),
                           "it is written as sha256: and 64 hexadecimal digits");
  if (from.strip < 0) site.diagnostics.error(place(site, "strip"), "'strip' is negative");
  if (from.base == Base::rpm && from.mirrors.empty())
    site.diagnostics.error(site.header, "`from rpm` needs 'mirrors'", "there is no mirror that fits all distributions");
  if (from.base == Base::rpm && from.keyring.empty() && !from.trusted)
    site.diagnostics.error(site.header, "`from rpm` needs the 'keyring' of its mirrors",
                           "their packages are not taken unsigned", "or write trusted = true");
}

void check_repository(void* object, const jobspec::Site& site) {
  const auto& repository = *static_cast<const Repository*>(object);
  if (repository.url.empty()) site.diagnostics.error(place(site, "url"), "a repository needs its 'url'");
  if (!repository.suite.ends_with('/') && repository.components.empty())
    site.diagnostics.error(
        place(site, "suite"), fmt::format("repository '{}' names a suite and no components", repository.name),
        "a suite that ends in '/' is a directory and has none; every other has some", "add components = [\"main\"]");
  for (const auto& text : {repository.url, repository.suite, repository.keyring})
    if (text.find_first_of(" \t\n[]") != std::string::npos)
      site.diagnostics.error(site.header, fmt::format("'{}' cannot be written in a list of sources", text));
}

template <class T>
void check_path(const T& object, const jobspec::Site& site) {
  if (!is_plain_path(object.path))
    site.diagnostics.error(site.header, fmt::format("'{}' is no absolute path", object.path),
                           "a path in the image begins with '/' and has no empty part, '.' or '..'");
}

template <class T>
void check_mode(const T& object, const jobspec::Site& site) {
  if (!object.mode.empty() && !parse_mode(object.mode))
    site.diagnostics.error(place(site, "mode"), fmt::format("'{}' is no mode", object.mode),
                           "it is octal, e.g. \"0644\"");
}

void check_file(void* object, const jobspec::Site& site) {
  const auto& file = *static_cast<const File*>(object);
  check_path(file, site);
  check_mode(file, site);
  if (file.content.has_value() == !file.source.empty())
    site.diagnostics.error(site.header, fmt::format("file '{}' needs either 'content' or 'source'", file.path),
                           file.content ? "it has both" : "it has neither");
}

void check_directory(void* object, const jobspec::Site& site) {
  check_path(*static_cast<const Directory*>(object), site);
  check_mode(*static_cast<const Directory*>(object), site);
}

void check_link(void* object, const jobspec::Site& site) {
  const auto& link = *static_cast<const Link*>(object);
  check_path(link, site);
  if (link.target.empty()) site.diagnostics.error(site.header, "a link needs its 'target'");
}

/// The block that a problem names, else the image's header.
hcl::Range block_named(const jobspec::Site& site, std::string_view type, std::string_view problem) {
  for (const auto* block : site.content.blocks_of(type))
    if (problem.find("'" + block->label(0) + "'") != std::string_view::npos) return block->range;
  return site.header;
}

void check_version(const Definition& definition, const jobspec::Site& site) {
  if (definition.version.empty()) return;  // said already, when it is not there at all
  std::string text;
  try {
    text = expand_version(definition.version, [](const std::string&) { return "1"; });
  } catch (const Error&) {
    // Stays empty, which is no version.
  }
  if (!image::is_image_version(text))
    site.diagnostics.error(place(site, "version"), fmt::format("'{}' is no version", definition.version),
                           "at most 128 letters, digits and . + ~ _ -, and {package} for the version of a package");
}

void check_image(void* object, const jobspec::Site& site) {
  auto& definition = *static_cast<Definition*>(object);
  check_version(definition, site);
  if (!definition.created.empty() && !parse_time(definition.created))
    site.diagnostics.error(place(site, "created"), fmt::format("'{}' is no time", definition.created),
                           "it is written as 2024-11-01T00:00:00Z");
  if (!definition.size_limit.empty() && !parse_size(definition.size_limit))
    site.diagnostics.error(place(site, "size_limit"), fmt::format("'{}' is no size", definition.size_limit),
                           "it is written as 200M");
  for (const auto& package : definition.packages)
    if (package.empty() || package.front() == '-' || package.find_first_of(" ,\t\n") != std::string::npos)
      site.diagnostics.error(place(site, "packages"), fmt::format("'{}' is no name of a package", package));
  for (const auto& path : definition.remove)
    if (!is_plain_path(path) || path == "/")
      site.diagnostics.error(place(site, "remove"), fmt::format("'{}' is no absolute path to remove", path));
  for (const auto& path : definition.writable)
    if (!is_plain_path(path))
      site.diagnostics.error(place(site, "writable"), fmt::format("'{}' is no absolute path", path));
  // What is built upon another image may depend on services of that one, which is known when it is built.
  for (const auto& problem : image::problems(definition.services)) {
    if (definition.from.base == Base::image && problem.find("none of the services") != std::string::npos) continue;
    site.diagnostics.error(block_named(site, "service", problem), problem);
  }
  image::Manifest steps{.name = "x", .version = "1", .steps = definition.steps};
  for (const auto& problem : image::problems(steps))
    site.diagnostics.error(block_named(site, "step", problem), problem);
  std::set<std::string> paths;
  for (const auto* block : site.content.blocks_of("file"))
    if (!paths.insert(block->label(0)).second)
      site.diagnostics.error(block->range, fmt::format("a second file '{}'", block->label(0)));
}

const jobspec::Dialect& dialect() {
  static const jobspec::Dialect all = {{"image", {.finish = check_image}},           {"from", {.finish = check_from}},
                                       {"repository", {.finish = check_repository}}, {"file", {.finish = check_file}},
                                       {"directory", {.finish = check_directory}},   {"link", {.finish = check_link}}};
  return all;
}

void read_image(const hcl::Body& rest, const hcl::Context& context, Definition& definition,
                hcl::Diagnostics& diagnostics) {
  const hcl::Schema schema{.blocks = {{"image", {"name"}}}};
  const auto content = rest.content(schema, diagnostics, "the file");
  const auto blocks = content.blocks_of("image");
  if (blocks.empty() && !diagnostics.has_errors())
    diagnostics.error(rest.missing_range(), "the file defines no image", "", "add image \"name\" { … }");
  if (blocks.size() > 1)
    diagnostics.error(blocks[1]->range, "a second image", fmt::format("the first is at {}", blocks[0]->range.where()),
                      "put it into a file of its own");
  if (blocks.empty()) return;
  jobspec::decode(*blocks[0], describe::structure_of<Definition>(), &definition, context, diagnostics, dialect());
  if (!blocks[0]->labels.empty() && !image::is_image_name(definition.name))
    diagnostics.error(blocks[0]->labels[0].range, fmt::format("'{}' is no name of an image", definition.name),
                      "at most 63 of a-z, 0-9, '.', '_', '-'");
}

}  // namespace

ParsedDefinition parse_definition(const std::string& text, const std::string& name,
                                  const std::filesystem::path& directory, const hcl::Inputs& inputs, bool files) {
  ParsedDefinition out;
  Definition definition;
  definition.directory = directory;
  try {
    hcl::Body body = hcl::parse(text, name, out.diagnostics);
    if (out.diagnostics.has_errors()) return out;
    hcl::Context base;
    base.functions(files ? hcl::file_functions(directory) : hcl::pure_functions());
    const hcl::Module module(std::move(body), {.base = base}, out.diagnostics);
    const hcl::Context context = module.context(inputs, out.diagnostics);
    read_image(hcl::expand_dynamic(module.rest(), context), context, definition, out.diagnostics);
  } catch (const Error& error) {
    out.diagnostics.error({}, error.message(), join(error.reasons(), "; "), error.advice());
  }
  if (!out.diagnostics.has_errors()) out.definition = std::move(definition);
  return out;
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && ((text[digits] >= '0' && text[digits] <= '9') || text[digits] == '.')) ++digits;
  const auto number = hcl::Number::parse(text.substr(0, digits));
  std::string unit = lower(trim(text.substr(digits)));
  if (unit.ends_with("ib"))
    unit.resize(unit.size() - 2);
  else if (unit.ends_with("b"))
    unit.resize(unit.size() - 1);
  static const std::map<std::string, int, std::less<>> kShifts = {{"", 0}, {"k", 10}, {"m", 20}, {"g", 30}, {"t", 40}};
  const auto shift = kShifts.find(unit);
  if (!number || shift == kShifts.end()) return {};
  return floor(*number * hcl::Number(std::int64_t{1} << shift->second)).to_int64();
}

std::optional<std::int64_t> parse_mode(std::string_view text) {
  if (text.empty() || text.size() > 5) return {};
  std::int64_t mode = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return {};
    mode = mode * 8 + (c - '0');
  }
  if (mode > 07777) return {};
  return mode;
}

bool is_plain_path(std::string_view path) {
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string_view::npos) return false;
  if (path == "/") return true;
  const auto parts = split(path.substr(1), '/');
  return std::none_of(parts.begin(), parts.end(),
                      [](const auto& part) { return part.empty() || part == "." || part == ".."; });
}

std::string expand_version(const std::string& text,
                           const std::function<std::string(const std::string& package)>& version_of) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto open = text.find_first_of("{}", at);
    out += text.substr(at, open - at);
    if (open == std::string::npos) break;
    const auto close = text.find_first_of("{}", open + 1);
    if (text[open] == '}' || close == std::string::npos || text[close] == '{' || close == open + 1)
      throw Error(Code::invalid, fmt::format("'{}' has a brace that belongs to no package", text));
    out += version_of(text.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return out;
}

std::string definition_reference() {
  return jobspec::structure_reference(
      "Definition of a capsule image",
      "`underway capsule build FILE.hcl` makes an [image](capsule-image.md) of what the file defines: one `image` "
      "block, "
      "with\n`variable` and `locals` blocks before it as in a [job file](job-file.md). Paths on the machine that "
      "builds "
      "are relative to\nthe file's directory. It is done in this order: base, packages, clean-up, directories, files, "
      "links, `remove`.\n\n<!-- generated from the descriptions; UNDERWAY_ACCEPT=1 with the imagebuild tests "
      "rewrites it -->",
      describe::structure_of<Definition>(), "image");
}

}  // namespace underway::imagebuild
