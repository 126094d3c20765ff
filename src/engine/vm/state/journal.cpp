#include "vm/state/journal.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "os/file.hpp"

namespace underway::vm {
namespace {

std::string journal_path(const std::string& directory) { return directory + "/journal.json"; }

std::string moved_path(const std::string& directory) { return directory + "/moved.json"; }

}  // namespace

const describe::Enumeration& description(describe::Tag<Verb>) {
  static const auto e = describe::enumeration<Verb>("verb");
  return e;
}

const describe::Structure& description(describe::Tag<Journal>) {
  static const describe::Structure s = describe::Builder<Journal>("journal", "What is being done to a running machine.")
                                           .wire<&Journal::verb>("Verb", "What it is.")
                                           .wire<&Journal::id>("ID", "Of what is being saved, or where it is sent to.")
                                           .wire<&Journal::running>("Running", "Whether it ran before.")
                                           .wire<&Journal::copied>("Copied", "Whether its disks go along.")
                                           .wire<&Journal::asks>("Asks", "Whether it waits once all is sent.")
                                           .done();
  return s;
}

const describe::Structure& description(describe::Tag<MovedAway>) {
  static const describe::Structure s = describe::Builder<MovedAway>("moved", "Where a machine has gone.")
                                           .wire<&MovedAway::to>("To", "Where it was sent to.")
                                           .wire<&MovedAway::when>("When", "Nanoseconds since the epoch.")
                                           .done();
  return s;
}

std::optional<MovedAway> find_moved(const std::string& directory) {
  const auto text = os::find_file(moved_path(directory));
  if (!text) return std::nullopt;
  return underway::json::decode_text<MovedAway>(*text);
}

void write_moved(const std::string& directory, const MovedAway& moved) {
  os::write_file(moved_path(directory), underway::json::encode(moved) + "\n", 0600);
}

void clear_moved(const std::string& directory) {
  if (::unlink(moved_path(directory).c_str()) != 0 && errno != ENOENT)
    throw errno_error(errno, fmt::format("cannot remove '{}'", moved_path(directory)));
}

Journal read_journal(const std::string& directory) {
  const auto text = os::find_file(journal_path(directory));
  if (!text) return {};
  return underway::json::decode_text<Journal>(*text);
}

// A crash of the host ends the machine as well: what a journal says does not have to outlive it.
void write_journal(const std::string& directory, const Journal& journal) {
  os::write_file(journal_path(directory), underway::json::encode(journal) + "\n", 0600, {}, os::Durability::cached);
}

void clear_journal(const std::string& directory) {
  if (::unlink(journal_path(directory).c_str()) != 0 && errno != ENOENT)
    throw errno_error(errno, fmt::format("cannot remove '{}'", journal_path(directory)));
}

}  // namespace underway::vm
