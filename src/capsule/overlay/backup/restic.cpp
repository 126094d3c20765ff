#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/redact.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"
#include "overlay/backup/detail/restic.hpp"

namespace underway::overlay {
namespace {

constexpr Duration kLongest = std::chrono::hours{24};
constexpr std::size_t kShortestRedacted = 6;

/// What it ended for; else the last line that says something.
std::string essence(const std::string& words) {
  constexpr std::string_view kFatal = "Fatal: ";
  std::string last;
  for (const auto& line : split(words, '\n')) {
    const auto text = trim(line);
    if (!text.empty()) last = text;
    if (!text.starts_with(kFatal)) continue;
    last.erase(0, kFatal.size());
    break;
  }
  if (last.size() > 400) last.resize(400);
  return is_utf8(last) ? last : "words that are no text";
}

struct Meaning {
  std::string_view words;
  Code code;
  std::string_view advice;
};
/// The first that fits. Whatever keeps restic from reading the repository's configuration, it asks in the end whether
/// there is a repository at all.
constexpr std::array<Meaning, 14> kMeanings = {{
    {"wrong password", Code::denied, "the password file is not the one that the repository was made with"},
    {"already locked", Code::conflict, "wait until whoever works there is done"},
    {"no space left", Code::exhausted, "make space where the backups lie, or keep fewer"},
    {"Access Denied", Code::denied, "look at the credentials: may they read, write and list there?"},
    {"InvalidAccessKeyId", Code::denied, "look at the credentials in the environment file"},
    {"request signature", Code::denied,
     "AWS_SECRET_ACCESS_KEY in the environment file is not the secret of AWS_ACCESS_KEY_ID, or this node's clock is "
     "wrong"},
    {"x509: ", Code::denied, "name the certificate of the server's authority: SSL_CERT_FILE=… in the environment file"},
    {"Permission denied", Code::denied, "look at the key or the rights of whom the backups belong to"},
    {"connection refused", Code::unavailable, "look whether the server runs and can be reached from this node"},
    {"dial tcp", Code::unavailable, "look whether the server runs and can be reached from this node"},
    {"unable to start the sftp session", Code::unavailable, "try the SFTP server by hand with the same key"},
    {"connection reset", Code::unavailable, "try again"},
    {"Is there a repository at", Code::not_found, "look at `repository`; the first backup makes a new one"},
    {"unable to open config file", Code::not_found, "look at `repository`; the first backup makes a new one"},
}};

/// restic reads its options as CSV (RFC 4180).
std::string quoted(const std::string& option) {
  std::string text = "\"";
  for (const char c : option) {
    if (c == '"') text += c;
    text += c;
  }
  return text + "\"";
}

std::string tag(const std::vector<std::string>& tags, std::string_view name) {
  for (const auto& text : tags) {
    if (text.starts_with(name) && text.size() > name.size() && text[name.size()] == '=')
      return text.substr(name.size() + 1);
  }
  return {};
}

}  // namespace

std::vector<std::string> problems(const Repository& repository) {
  std::vector<std::string> list;
  if (repository.url.empty()) list.emplace_back("`repository` says no place");
  const bool known =
      repository.url.starts_with('/') || repository.url.starts_with("sftp:") || repository.url.starts_with("s3:");
  if (!repository.url.empty() && !known)
    list.push_back(
        fmt::format("'{}' is no absolute directory, sftp:… or s3:…", redact_url(repository.url, UrlUser::hidden)));
  struct stat found = {};
  if (repository.password_file.empty())
    list.emplace_back("`password_file` is missing: backups are always encrypted");
  else if (::stat(repository.password_file.c_str(), &found) != 0)
    list.push_back(fmt::format("there is no password file '{}'", repository.password_file));
  else if ((found.st_mode & 077U) != 0)
    list.push_back(fmt::format("others may read the password file '{}' (mode {:04o}): it must be 0600",
                               repository.password_file, found.st_mode & 07777U));
  else if (found.st_size == 0)
    list.push_back(fmt::format("the password file '{}' is empty", repository.password_file));
  return list;
}

std::map<std::string, std::string> read_environment(const std::string& file) {
  struct stat found = {};
  if (::stat(file.c_str(), &found) != 0) throw errno_error(errno, fmt::format("cannot read '{}'", file));
  if ((found.st_mode & 077U) != 0)
    throw Error(Code::invalid, fmt::format("others may read '{}'", file))
        .because(fmt::format("its mode is {:04o}, and it holds secrets", found.st_mode & 07777U))
        .advise(fmt::format("chmod 600 {}", file));
  std::map<std::string, std::string> environment;
  for (const auto& line : split(os::read_file(file, 1U << 20), '\n')) {
    const auto text = trim(line);
    const auto equals = text.find('=');
    if (text.empty() || text.starts_with('#') || equals == std::string_view::npos) continue;
    environment[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return environment;
}

Error restic_error(const Repository& repository, const std::string& command, const std::string& words) {
  const auto folded = lower(words);
  Code code = Code::internal;
  std::string advice = "run restic by hand with the same repository and password file";
  for (const auto& meaning : kMeanings) {
    if (folded.find(lower(meaning.words)) == std::string::npos) continue;
    code = meaning.code;
    advice = meaning.advice;
    break;
  }
  // A secret of the environment must not come back in what a library below restic complains of.
  std::vector<SecretValue> secrets;
  for (const auto& [name, value] : repository.environment) secrets.push_back({value});
  return Error(code, fmt::format("`restic {}` failed with '{}'", command, redact_url(repository.url, UrlUser::hidden)))
      .because(redact_values(essence(words), secrets, kShortestRedacted))
      .advise(advice);
}

std::string run_restic(const Repository& repository, const std::vector<std::string>& arguments,
                       const std::string& cwd) {
  const auto wrong = problems(repository);
  if (!wrong.empty()) {
    throw Error(Code::invalid,
                fmt::format("cannot use the backups in '{}'", redact_url(repository.url, UrlUser::hidden)))
        .because(wrong);
  }
  os::SpawnSpec spec{.argv = {"restic"}};
  spec.parent_death_signal = SIGTERM;  // who asked for it is no more
  if (repository.cache_dir.empty()) spec.argv.emplace_back("--no-cache");
  if (!repository.sftp_command.empty()) {
    spec.argv.emplace_back("--option");
    spec.argv.push_back(quoted("sftp.command=" + repository.sftp_command));
  }
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  auto variables = repository.environment;
  variables.try_emplace("HOME", "/root");
  variables["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin";
  variables["LC_ALL"] = "C";
  variables["TZ"] = "UTC";
  variables["RESTIC_REPOSITORY"] = repository.url;
  variables["RESTIC_PASSWORD_FILE"] = repository.password_file;
  if (!repository.cache_dir.empty()) variables["RESTIC_CACHE_DIR"] = repository.cache_dir;
  spec.env = os::environment(variables);
  spec.cwd = cwd;
  os::Output output;
  try {
    output = os::run_program(std::move(spec), kLongest);
  } catch (Error& e) {
    if (e.code() == Code::not_found) e.advise("install the package restic");
    throw;
  }
  if (output.status.success()) return output.out;
  throw restic_error(repository, arguments.front(), output.err.empty() ? output.out : output.err);
}

std::vector<Backup> parse_backups(std::string_view text) {
  std::vector<Backup> list;
  const auto json = json::parse(text);
  if (json.is_null()) return list;
  if (!json.is_array()) throw Error(Code::internal, "restic lists its snapshots in a way that is not known");
  for (const auto& item : json.get_array()) {
    if (!item.is_object()) throw Error(Code::internal, "restic lists its snapshots in a way that is not known");
    const auto& object = item.get_object();
    const auto at = parse_time(json::text_at(object, "time"));
    Backup backup{.id = json::text_at(object, "id"), .capsule = json::text_at(object, "hostname")};
    if (!at || backup.id.empty()) throw Error(Code::internal, "restic lists a snapshot without a time or an id");
    backup.at = unix_nanos(*at);
    std::vector<std::string> tags;
    if (const auto* found = object.if_contains("tags"); found != nullptr && found->is_array()) {
      for (const auto& entry : found->get_array()) {
        if (entry.is_string()) tags.emplace_back(entry.get_string());
      }
    }
    backup.image = tag(tags, "image");
    backup.snapshot = tag(tags, "snapshot");
    backup.digest = tag(tags, "digest");
    list.push_back(std::move(backup));
  }
  std::sort(list.begin(), list.end(), [](const Backup& a, const Backup& b) { return a.at < b.at; });
  return list;
}

}  // namespace underway::overlay
