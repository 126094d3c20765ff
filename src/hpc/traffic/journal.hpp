#pragma once
/// @file
/// A survey on disk: one record per interval, with what happened in it. A crash loses the interval that was not written
/// yet; a torn or damaged record is skipped and told. Records add up in any order, so journals of several interfaces,
/// hosts and weeks can be read as one. A file that grows beyond its limit is summed up into one record in place.
///
/// The file begins with "UWSURVEY1\n". Then records; numbers of their heads are little-endian:
///
///     offset  size  field
///     0       4     marker: 89 55 57 4a ("\x89UWJ"); behind a damaged record the next one is looked for
///     4       4     length of the body
///     8       4     CRC-32 of the body
///     12      n     body
///
/// In a body a number is LEB128 (seven bits a byte, the lowest first), a text its length and its bytes, an address a
/// number 4, 6 or 48 and one, two or one numbers, a list how many and each:
///
///     number 1, the version
///     notes      lists: sources (texts), MAC addresses, addresses, networks (texts); number 1: these were inferred
///     seen       packets, bytes, lost, evicted, first, last; pairs of what was malformed (a text) and how often, up to
///                an empty text
///     stations   each MAC, VLAN, is a gateway, packets, bytes, addresses (a list); up to a MAC of 0
///     services   each number 1, the key, the totals, clients (a list: is a destination, address); up to a number 0
///
/// A record has what changed in its interval, as sums.

#include "os/file.hpp"
#include "traffic/flow/surveyed.hpp"
#include "traffic/flow/tally.hpp"

#include <string>
#include <vector>

namespace underway::traffic {

/// What a journal says besides its sums.
struct JournalNotes {
  std::vector<std::string> sources;
  Surveyed surveyed;
  std::vector<std::string> problems;
};

bool is_journal(const std::string& path);

/// Adds all that can be read to `tally` and `notes`. Errors: not_found, invalid when it is no journal.
void read_journal(const std::string& path, Tally& tally, JournalNotes& notes);

class Journal {
 public:
  static constexpr std::uint64_t kLimit = 64U << 20;

  /// Opens or creates it (mode 0600: it tells who talks to whom) and goes on behind what is whole.
  /// Errors: conflict when another process writes it; invalid when it is something else.
  Journal(std::string path, const std::string& source, Surveyed surveyed, std::uint64_t limit = kLimit);

  /// Writes what the tally gathered since the last call, durably, and begins its next interval.
  void append(Tally& tally);
  /// What is known of the surveyed machine by now.
  void set_surveyed(const Surveyed& surveyed) { surveyed_ = surveyed; }

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }

 private:
  void open_for_append();
  void sum_up();

  std::string path_;
  os::FileLock lock_;
  os::Fd file_;
  std::string source_;
  Surveyed surveyed_;
  std::uint64_t limit_;
  std::uint64_t size_ = 0;
};

/// The body of one record, and back. `decode_record` throws Error(invalid) for a body that no encoder made.
std::string encode_record(const Tally& tally, const JournalNotes& notes);
void decode_record(std::string_view body, Tally& tally, JournalNotes& notes);

}  // namespace underway::traffic
