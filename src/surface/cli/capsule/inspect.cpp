// Images as files: verify, sign, inspect, compare.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/capsule/keys_local.hpp"
#include "cli/cluster/slurm_versions.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "image/compare.hpp"
#include "image/pack.hpp"
#include "image/verified.hpp"

namespace underway::cli {
namespace {

int verify(const Arguments& arguments) {
  const auto keys = trusted_keys(arguments);
  boost::json::array all;
  Table table({"Image", "Digest", "Size", "Signed by"});
  for (const auto& path : arguments.positional()) {
    const auto image = image::open_verified(path, keys, current_time());
    all.push_back({{"Path", path},
                   {"Name", image.manifest().name},
                   {"Version", image.manifest().version},
                   {"Digest", image.digest()},
                   {"Size", image.size()},
                   {"Key", image.signer().id},
                   {"KeyName", image.signer().name}});
    table.add({image.manifest().reference(), image.digest(), size_text(image.size()),
               fmt::format("{} ({})", image.signer().name, image.signer().id)});
  }
  if (arguments.has("json"))
    print_json(all);
  else
    table.print();
  return kDone;
}

int sign(const Arguments& arguments) {
  const auto path = arguments.find("key");
  if (!path)
    throw Error(Code::invalid, "say with which key: -key FILE").advise("make one: underway capsule keys generate");
  const auto key = image::read_private_key(*path);
  for (const auto& image : arguments.positional()) {
    image::sign_image(image, key);
    say(fmt::format("{} is signed by '{}' ({})", image, key.name, key.key.verifying().id()));
  }
  return kDone;
}

void print_services(const image::Manifest& manifest) {
  if (manifest.services.empty()) return;
  print("\nServices\n");
  Table table({"Name", "Command", "User", "Depends on"});
  for (const auto& service : manifest.services)
    table.add({service.name, join(service.command, " "), service.user.empty() ? "root" : service.user,
               join(service.depends_on, ", ")});
  table.print();
}

void print_steps(const image::Manifest& manifest) {
  if (manifest.steps.empty()) return;
  print("\nSteps\n");
  Table table({"Moment", "Command"});
  for (const auto& step : manifest.steps)
    table.add({std::string(describe::spell(step.moment)), join(step.command, " ")});
  table.print();
}

void print_packages(const image::Manifest& manifest) {
  if (manifest.packages.empty()) return;
  print("\nPackages\n");
  Table table({"Name", "Version", "Architecture"});
  for (const auto& package : manifest.packages) table.add({package.name, package.version, package.architecture});
  table.print();
}

void print_files(const image::ImageFile& file, const image::Manifest& manifest) {
  print("\nFiles\n");
  Table table({"Type", "Mode", "Owner", "Size", "Path"});
  for (const auto& entry : file.files(manifest))
    table.add({std::string(describe::spell(entry.kind)), fmt::format("{:04o}", entry.mode),
               fmt::format("{}:{}", entry.uid, entry.gid), std::to_string(entry.size),
               entry.target.empty() ? entry.path : entry.path + " → " + entry.target});
  table.print();
}

int inspect_capsule(const Arguments& arguments) {
  const auto file = image::ImageFile::open(arguments.positional().front());
  const auto manifest = file.manifest();
  if (arguments.has("json")) {
    auto all = json::to_value(manifest);
    auto& object = all.get_object();
    object["Digest"] = file.digest();
    object["Signatures"] = json::to_value(file.signatures());
    if (arguments.has("files")) object["FileList"] = json::to_value(file.files(manifest));
    print_json(all);
    return kDone;
  }
  std::vector<std::string> signers;
  for (const auto& signature : file.signatures())
    signers.push_back(fmt::format("{} ({})", signature.name, signature.key));
  std::vector<std::string> networks;
  for (const auto& network : manifest.networks) networks.push_back(network.name);
  print(key_values({{"Image", manifest.reference()},
                    {"Description", manifest.description},
                    {"Digest", file.digest()},
                    {"Architecture", manifest.architecture},
                    {"Date", format_time(from_unix_nanos(manifest.created))},
                    {"Made of", manifest.source},
                    {"Size", size_text(file.layout().file())},
                    {"Files", std::to_string(manifest.files.count)},
                    {"Packages", std::to_string(manifest.packages.size())},
                    {"Slurm", slurm_of(manifest)},
                    {"Networks", join(networks, ", ")},
                    {"Writable", join(manifest.writable, ", ")},
                    {"Signed by", signers.empty() ? "nobody" : join(signers, ", ") + "; not verified"}}));
  print_services(manifest);
  print_steps(manifest);
  if (arguments.has("packages")) print_packages(manifest);
  if (arguments.has("files")) print_files(file, manifest);
  return kDone;
}

int diff(const Arguments& arguments) {
  const auto from = image::ImageFile::open(arguments.positional()[0]);
  const auto to = image::ImageFile::open(arguments.positional()[1]);
  const auto from_manifest = from.manifest();
  const auto to_manifest = to.manifest();
  const auto found = image::compare(from_manifest, from.files(from_manifest), to_manifest, to.files(to_manifest));
  if (arguments.has("json")) {
    print_json(json::to_value(found));
    return kDone;
  }
  print(fmt::format("{} → {}\n", found.from, found.to));
  if (!found.packages.empty()) {
    print("\nPackages\n");
    Table table({"", "Name", "From", "To"});
    for (const auto& package : found.packages)
      table.add({std::string(describe::spell(package.difference)), package.name, package.from, package.to});
    table.print();
  }
  if (!found.files.empty()) {
    print("\nFiles\n");
    Table table({"", "Path", "Bytes", "What"});
    for (const auto& file : found.files)
      table.add({std::string(describe::spell(file.difference)), file.path,
                 file.from == file.to ? std::to_string(file.to) : fmt::format("{} → {}", file.from, file.to),
                 join(file.details, ", ")});
    table.print();
  }
  if (found.packages.empty() && found.files.empty()) say("no package and no file differs");
  return kDone;
}

}  // namespace

const Command& capsule_verify_command() {
  static const Command command{.name = "capsule verify",
                               .arguments = "IMAGE…",
                               .summary = "Verifies images: every byte, and that somebody trusted signed them.",
                               .flags = {trust_flag(), {"json", "", "As JSON."}},
                               .least = 1,
                               .most = 1000,
                               .talks_to_server = false,
                               .run = verify};
  return command;
}

const Command& capsule_sign_command() {
  static const Command command{.name = "capsule sign",
                               .arguments = "IMAGE…",
                               .summary = "Signs images, after comparing them with their manifests.",
                               .flags = {{"key", "FILE", "The private key."}},
                               .least = 1,
                               .most = 1000,
                               .talks_to_server = false,
                               .run = sign};
  return command;
}

const Command& capsule_inspect_command() {
  static const Command command{
      .name = "capsule inspect",
      .arguments = "IMAGE",
      .summary = "Shows what an image says of itself, whether it can be trusted or not.",
      .flags = {{"packages", "", "Its packages too."}, {"files", "", "Its files too."}, {"json", "", "As JSON."}},
      .least = 1,
      .most = 1,
      .talks_to_server = false,
      .run = inspect_capsule};
  return command;
}

const Command& capsule_diff_command() {
  static const Command command{.name = "capsule diff",
                               .arguments = "FROM TO",
                               .summary = "Lists packages and files that differ between two images.",
                               .flags = {{"json", "", "As JSON."}},
                               .least = 2,
                               .most = 2,
                               .talks_to_server = false,
                               .run = diff};
  return command;
}

}  // namespace underway::cli
