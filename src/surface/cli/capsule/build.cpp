#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "cli/capsule/keys_local.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/terminal.hpp"
#include "hcl/parse/parser.hpp"
#include "imagebuild/build.hpp"

namespace underway::cli {
namespace {

std::optional<std::int64_t> source_date_epoch() {
  const char* text = std::getenv("SOURCE_DATE_EPOCH");
  if (text == nullptr || *text == '\0') return {};
  constexpr std::int64_t kLatest = 999'999'999'999;
  const auto seconds = parse_number<std::int64_t>(text);
  if (!seconds || *seconds < 0 || *seconds > kLatest)
    throw Error(Code::invalid, fmt::format("SOURCE_DATE_EPOCH '{}' is no number of seconds", text));
  return seconds;
}

hcl::Inputs variables_of(const Arguments& arguments, hcl::Diagnostics& diagnostics) {
  hcl::Inputs inputs;
  for (const auto& text : arguments.all("var")) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) throw Error(Code::invalid, fmt::format("-var '{}' is not NAME=VALUE", text));
    inputs.arguments.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const auto& file : arguments.all("var-file")) inputs.files.push_back(hcl::parse_file(file, diagnostics));
  return inputs;
}

imagebuild::Definition load(const Arguments& arguments) {
  const std::string& path = arguments.positional().front();
  const auto directory = std::filesystem::absolute(path).parent_path();
  hcl::Diagnostics diagnostics;
  const auto inputs = variables_of(arguments, diagnostics);
  auto parsed = imagebuild::parse_definition(read_input(path), path, directory, inputs);
  diagnostics.append(std::move(parsed.diagnostics));
  if (diagnostics.has_errors()) refuse(diagnostics, fmt::format("the definition '{}'", path));
  return *std::move(parsed.definition);
}

int build(const Arguments& arguments) {
  const auto definition = load(arguments);
  if (arguments.has("check")) {
    say(fmt::format("the definition of image '{}' is valid", definition.name));
    return kDone;
  }
  std::optional<image::PrivateKeyFile> key;
  if (const auto path = arguments.find("key")) key = image::read_private_key(*path);
  imagebuild::BuildOptions options;
  options.out = arguments.get("o");
  options.work = arguments.get("work", "/var/tmp");
  options.key = key ? &*key : nullptr;
  options.trusted = trusted_keys(arguments);
  options.now = current_time();
  options.source_date_epoch = source_date_epoch();
  if (const auto limit = arguments.find("unpack-limit")) {
    const auto bytes = imagebuild::parse_size(*limit);
    if (!bytes) throw Error(Code::invalid, fmt::format("-unpack-limit '{}' is no size", *limit));
    options.unpack_limit = *bytes;
  }
  options.progress = [](const std::string& what) { say(what); };
  const auto built = imagebuild::build(definition, options);
  const auto& image = built.image;
  if (arguments.has("json")) {
    print_json({{"Path", built.path},
                {"Name", image.manifest.name},
                {"Version", image.manifest.version},
                {"Digest", image.digest},
                {"Size", image.size},
                {"Packages", image.manifest.packages.size()},
                {"Signed", key.has_value()}});
    return kDone;
  }
  print(key_values({{"File", built.path},
                    {"Image", image.manifest.reference()},
                    {"Digest", image.digest},
                    {"Size", human_bytes(static_cast<std::uint64_t>(image.size))},
                    {"Packages", std::to_string(image.manifest.packages.size())},
                    {"Signed by", key ? key->name : "nobody: underway capsule sign"}}));
  return kDone;
}

}  // namespace

const Command& capsule_build_command() {
  static const Command command{
      .name = "capsule build",
      .arguments = "FILE.hcl",
      .summary = "Builds a capsule image from a definition.",
      .details =
          "The same definition and the same packages give the same bytes, wherever and whenever it is built. Packages "
          "and other images need root: their files belong to many users.",
      .examples = {"underway capsule build slurm-services.hcl -key ops.key",
                   "underway capsule build chrony.hcl -o chrony.capsule -trust keys/"},
      .flags = {{"o", "FILE", "The image to make; NAME-VERSION.capsule in this directory."},
                {"key", "FILE", "Signs it with this private key."},
                trust_flag(),
                {"check", "", "Only checks the definition."},
                {"work", "DIR", "Where trees are made meanwhile; /var/tmp."},
                {"unpack-limit", "SIZE", "What archives may unpack to; 32G."},
                {"var", "NAME=VALUE", "Gives a variable its value.", true},
                {"var-file", "FILE", "Reads values of variables, in HCL or JSON.", true},
                {"json", "", "As JSON."}},
      .least = 1,
      .most = 1,
      .talks_to_server = false,
      .run = build};
  return command;
}

}  // namespace underway::cli
