#include "mirror/deb.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "closure/closure.hpp"
#include "crypto/digest.hpp"
#include "mirror/detail/into_pool.hpp"
#include "package/query.hpp"
#include "rpmmd/compressed.hpp"
#include "suite/release.hpp"

namespace underway::mirror {
namespace {

using package::Package;
using package::PackageList;
using releasefile::Mirror;

constexpr std::size_t kLargestRelease = std::size_t{64} << 20;
constexpr std::size_t kMostReasons = 20;
/// Rounds of fetching what is not held: what takes longer than the pool's grace may lose what it began with.
constexpr int kRounds = 3;
/// apt's own order, as far as we unpack them; the plain one is fetched where there is nothing else.
constexpr std::array<std::string_view, 4> kSuffixes = {".xz", ".zst", ".gz", ""};

std::string sha256_hex(std::string_view bytes) { return hex(crypto::sha256(bytes)); }

std::string selection_of(const Mirror& mirror) {
  std::string all = fmt::format("{}\n{}\n{}\n{}\n", mirror.filter, mirror.with_dependencies,
                                join(mirror.components, " "), join(mirror.architectures, " "));
  for (const auto& query : mirror.leave) all += query + "\n";
  return sha256_hex(all);
}

/// An index as it is while a mirror is synchronised.
struct Index {
  IndexView view;
  PackageList all;  ///< as upstream has it; none where it is as it was
  bool as_before = false;
};

class Synchronisation {
 public:
  Synchronisation(const Mirror& mirror, const View& before, const DebParts& parts, TimePoint now,
                  const OnStage& on_stage)
      : mirror_(mirror), before_(before), parts_(parts), now_(now), on_stage_(on_stage) {
    out_.view.selection = selection_of(mirror);
    same_selection_ = out_.view.selection == before.selection;
  }

  Synchronised run() {
    for (const auto& suite : mirror_.suites) out_.view.suites.push_back(look(suite));
    if (out_.changed || !same_selection_) {
      choose();
      fetch_packages();
    }
    out_.changed = out_.changed || !same_selection_ || out_.view.suites.size() != before_.suites.size();
    return std::move(out_);
  }

 private:
  void tell(const std::string& what) const {
    if (on_stage_) on_stage_({.what = what});
  }

  SuiteView look(const std::string& suite) {
    tell(suite + ": InRelease");
    const auto* known = same_selection_ ? before_.find(suite) : nullptr;
    const auto found =
        parts_.upstream.get(fmt::format("dists/{}/InRelease", suite), kLargestRelease,
                            known != nullptr ? transfer::Known{known->etag, known->modified} : transfer::Known{});
    if (!found.changed && known != nullptr && holds_all(*known)) return *known;
    if (!found.changed) return read(suite, nullptr);  // the pool has lost something: all is looked at anew
    const auto digest = sha256_hex(found.bytes);
    if (known != nullptr && digest == known->release && holds_all(*known)) {
      auto view = *known;
      view.etag = found.known.etag;
      view.modified = found.known.modified;
      return view;
    }
    return read(suite, &found);
  }
  bool holds_all(const SuiteView& suite) const {
    std::vector<pool::Digest> all{package::parse_digest(suite.release)};
    for (const auto& index : suite.indexes) all.push_back(package::parse_digest(index.list));
    std::ranges::sort(all);
    return parts_.pool.hold(all).empty();
  }

  SuiteView read(const std::string& suite, const transfer::Document* document) {
    out_.changed = true;
    transfer::Document fetched;
    if (document == nullptr) {
      fetched = parts_.upstream.get(fmt::format("dists/{}/InRelease", suite), kLargestRelease);
      document = &fetched;
    }
    const auto verified = parts_.keys.verify_clearsigned(document->bytes, now_);
    const auto release = suite::parse_release(verified.content);
    check(suite, release);
    SuiteView view{.suite = suite,
                   .release = hex_of(parts_.pool.add_bytes(document->bytes).digest),
                   .origin = release.origin,
                   .label = release.label,
                   .codename = release.codename,
                   .version = release.version,
                   .date = unix_seconds(release.date),
                   .etag = document->known.etag,
                   .modified = document->known.modified};
    for (const auto& component : mirror_.components) {
      for (const auto& architecture : mirror_.architectures) {
        auto index = read_index(suite, release, component, architecture);
        view.indexes.push_back(index.view);
        indexes_[suite].push_back(std::move(index));
      }
    }
    return view;
  }
  static std::string hex_of(const pool::Digest& digest) { return package::hex_digest(digest); }

  void check(const std::string& suite, const suite::Release& release) const {
    // Whatever was asked for before: time goes on for all of it.
    const auto* known = before_.find(suite);
    const auto refusals = suite::refusals(
        release,
        {.suite = suite,
         .components = mirror_.components,
         .architectures = mirror_.architectures,
         .before = known == nullptr ? std::nullopt : std::optional(TimePoint{std::chrono::seconds{known->date}}),
         .max_age = mirror_.max_age,
         .now = now_});
    if (refusals.empty()) return;
    throw Error(Code::invalid, fmt::format("upstream's '{}' is not taken", suite))
        .because(refusals)
        .advise("the view of before stays; look at upstream, and at both clocks");
  }

  Index read_index(const std::string& suite, const suite::Release& release, const std::string& component,
                   const std::string& architecture) {
    const auto path = fmt::format("{}/binary-{}/Packages", component, architecture);
    const auto* plain = release.find(path);
    if (plain == nullptr)
      throw Error(Code::invalid, fmt::format("upstream's '{}' is not taken", suite))
          .because(fmt::format("it names no {}", path));
    Index index{.view = {.component = component, .architecture = architecture, .upstream = plain->sha256}};
    if (const auto* same = find_before(suite, index.view)) {
      index.view = *same;
      index.as_before = true;
      return index;
    }
    tell(fmt::format("{}: {}", suite, path));
    auto text = std::make_shared<const std::string>(fetch_index(suite, release, *plain));
    index.all = PackageList::of_packages_index(std::move(text));
    return index;
  }
  /// Of an upstream that has changed elsewhere. Where something is chosen over all indexes, all of them are read.
  const IndexView* find_before(const std::string& suite, const IndexView& wanted) const {
    const auto* known = same_selection_ && takes_all() ? before_.find(suite) : nullptr;
    if (known == nullptr) return nullptr;
    const auto at = std::ranges::find_if(known->indexes, [&](const auto& it) {
      return it.component == wanted.component && it.architecture == wanted.architecture &&
             it.upstream == wanted.upstream;
    });
    if (at == known->indexes.end() || !parts_.pool.hold(package::parse_digest(at->list))) return nullptr;
    return &*at;
  }
  bool takes_all() const { return mirror_.filter.empty() && mirror_.leave.empty(); }

  std::string fetch_index(const std::string& suite, const suite::Release& release,
                          const suite::IndexFile& plain) const {
    for (const auto suffix : kSuffixes) {
      const auto* packed = release.find(plain.path + std::string(suffix));
      if (packed == nullptr) continue;
      const auto bytes = fetch_named(suite, release, *packed);
      auto text = suffix.empty() ? bytes : rpmmd::unpack(bytes, packed->path, plain.size);
      check_bytes(plain, text);
      return text;
    }
    throw Error(Code::internal, fmt::format("'{}' is named and not there", plain.path));
  }
  /// By its digest where upstream has it so: under its own name there may be the next one already.
  std::string fetch_named(const std::string& suite, const suite::Release& release, const suite::IndexFile& file) const {
    const auto slash = file.path.rfind('/');
    const auto by_hash = fmt::format("dists/{}/{}/by-hash/SHA256/{}", suite, file.path.substr(0, slash), file.sha256);
    if (release.acquire_by_hash) {
      try {
        auto bytes = parts_.upstream.get(by_hash, file.size).bytes;
        check_bytes(file, bytes);
        return bytes;
      } catch (const Error& error) {
        if (error.code() != Code::not_found) throw;
      }
    }
    auto bytes = parts_.upstream.get(fmt::format("dists/{}/{}", suite, file.path), file.size).bytes;
    check_bytes(file, bytes);
    return bytes;
  }
  static void check_bytes(const suite::IndexFile& file, std::string_view bytes) {
    if (bytes.size() == file.size && sha256_hex(bytes) == file.sha256) return;
    throw Error(Code::invalid, fmt::format("'{}' is not what upstream signed", file.path))
        .because(fmt::format("{} bytes with the digest {}, where {} with {} were promised", bytes.size(),
                             sha256_hex(bytes), file.size, file.sha256))
        .advise("upstream may be in the middle of a change: try again in some minutes");
  }

  /// What is taken of all that there is, and writes it down.
  void choose() {
    read_what_is_as_before();
    std::vector<PackageList> lists;
    for (const auto& [suite, all] : indexes_) {
      for (const auto& index : all) lists.push_back(index.all);
    }
    const auto everything = PackageList::merge(lists);
    const auto wanted = chosen_of(everything);
    for (auto& suite : out_.view.suites) {
      auto& indexes = indexes_[suite.suite];
      for (std::size_t i = 0; i < indexes.size(); ++i) {
        if (!indexes[i].as_before) write_down(indexes[i], wanted);
        suite.indexes[i] = indexes[i].view;
      }
    }
  }
  /// Suites that have not changed take part where something is chosen over all of them.
  void read_what_is_as_before() {
    if (takes_all()) return;
    for (auto& suite : out_.view.suites) {
      if (!indexes_[suite.suite].empty()) continue;
      const auto whole = read(suite.suite, nullptr);
      suite = whole;
    }
  }
  struct Chosen {
    PackageList list;
    bool everything = false;
  };
  Chosen chosen_of(const PackageList& everything) {
    if (takes_all()) return {everything, true};
    auto kept = everything;
    for (const auto& text : mirror_.leave) {
      const auto query = package::parse_query(text);
      kept = kept.filter([&](const Package& package) {
        if (!query.matches(package)) return true;
        out_.left.push_back(package.reference());
        return false;
      });
    }
    if (mirror_.filter.empty()) return {kept, false};
    const auto wanted = package::select(kept, package::parse_query(mirror_.filter));
    return {mirror_.with_dependencies ? closure::with_dependencies(kept, wanted) : wanted, false};
  }
  void write_down(Index& index, const Chosen& chosen) {
    std::map<package::Digest, bool> wanted;
    if (!chosen.everything) {
      for (const auto& each : chosen.list.packages()) wanted.emplace(each.digest, true);
    }
    std::string text;
    for (const auto& each : index.all.packages()) {
      if (!chosen.everything && !wanted.contains(each.digest)) continue;
      text += each.description;
      text += each.description.ends_with('\n') ? "\n" : "\n\n";
      ++index.view.packages;
      index.view.bytes += static_cast<std::int64_t>(each.size);
      needed_.emplace(each.digest, &each);
    }
    index.view.list = hex_of(parts_.pool.add_bytes(text).digest);
  }

  void fetch_packages() {
    for (int round = 0; round < kRounds; ++round) {
      std::vector<pool::Digest> digests;
      for (const auto& [digest, package] : needed_) digests.push_back(digest);
      const auto missing = parts_.pool.hold(digests);
      if (missing.empty()) return;
      fetch(missing);
    }
    throw Error(Code::conflict, "what was fetched is collected before all of it is there")
        .advise("the pool's grace is shorter than this mirror takes");
  }
  void fetch(const std::vector<pool::Digest>& missing) {
    std::vector<detail::IntoPool> receivers;
    std::vector<transfer::Wanted> wanted;
    receivers.reserve(missing.size());
    std::uint64_t of_bytes = 0;
    for (const auto& digest : missing) {
      const auto& package = *needed_.at(digest);
      receivers.emplace_back(parts_.pool, pool::Wanted{digest, package.size});
      wanted.push_back({package.file, package.size, &receivers.back()});
      of_bytes += package.size;
    }
    const auto failures = parts_.upstream.fetch(wanted, kMostReasons, [&](std::uint64_t bytes, std::size_t files) {
      if (on_stage_) on_stage_({"packages", bytes, of_bytes, files, wanted.size()});
      return true;
    });
    if (failures.empty()) {
      out_.files += wanted.size();
      out_.bytes += of_bytes;
      return;
    }
    Error error(
        failures.front().error.code(),
        fmt::format("{} of {} packages could not be fetched",
                    failures.size() < kMostReasons ? std::to_string(failures.size()) : "too many", wanted.size()));
    for (const auto& failure : failures) error.because(failure.error.one_line());
    throw error.advise("what has arrived stays, and the next time goes on behind it");
  }

  const Mirror& mirror_;
  const View& before_;
  const DebParts& parts_;
  TimePoint now_;
  const OnStage& on_stage_;
  bool same_selection_ = false;
  std::map<std::string, std::vector<Index>> indexes_;  ///< by suite; none of those that have not changed
  std::map<pool::Digest, const Package*> needed_;
  Synchronised out_;
};

}  // namespace

Synchronised synchronise_deb(const Mirror& mirror, const View& before, const DebParts& parts, TimePoint now,
                             const OnStage& on_stage) {
  return Synchronisation(mirror, before, parts, now, on_stage).run();
}

}  // namespace underway::mirror
