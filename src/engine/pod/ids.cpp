#include "pod/ids.hpp"

#include <algorithm>
#include <mutex>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::pod {
namespace {

using Spans = std::vector<IdSpan>;

/// Beyond the last number: 2^32-1 is none (chown(2) takes it for "leave as it is").
constexpr std::uint64_t kEnd = 0xffffffff;

std::uint64_t end_of(const IdSpan& span) { return std::uint64_t{span.first} + span.count; }

Spans normal(Spans spans) {
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Spans out;
  for (const auto& span : spans) {
    if (span.count == 0) continue;
    if (!out.empty() && span.first <= end_of(out.back()))
      out.back().count = static_cast<std::uint32_t>(std::max(end_of(out.back()), end_of(span)) - out.back().first);
    else
      out.push_back(span);
  }
  return out;
}

/// Both normal.
Spans without(const Spans& all, const Spans& taken) {
  Spans out;
  for (const auto& span : all) {
    std::uint64_t at = span.first;
    for (const auto& hole : taken) {
      if (end_of(hole) <= at || hole.first >= end_of(span)) continue;
      if (hole.first > at) out.push_back({static_cast<std::uint32_t>(at), hole.first - static_cast<std::uint32_t>(at)});
      at = end_of(hole);
    }
    if (at < end_of(span))
      out.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end_of(span) - at)});
  }
  return out;
}

std::uint64_t sum(const Spans& spans) {
  std::uint64_t count = 0;
  for (const auto& span : spans) count += span.count;
  return count;
}

Spans common(const Spans& a, const Spans& b) { return without(a, without(a, b)); }

Spans outside_of(const os::IdMap& map) {
  Spans out;
  for (const auto& range : map) out.push_back({range.outside, range.count});
  return normal(std::move(out));
}

Spans inside_of(const os::IdMap& map) {
  Spans out;
  for (const auto& range : map) out.push_back({range.inside, range.count});
  return normal(std::move(out));
}

Spans spans_of(std::string_view text) {
  Spans out;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), ':');
    if (fields.size() != 3 || fields[0] != "containers") continue;
    const auto first = parse_number<std::uint64_t>(fields[1]), count = parse_number<std::uint64_t>(fields[2]);
    if (!first || !count || *first >= kEnd) continue;
    out.push_back({static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(std::min(*count, kEnd - *first))});
  }
  out = normal(std::move(out));
  return out.empty() ? Spans{kOwnIds} : out;
}

/// `what`: "users" or "groups".
os::IdMap allot(const char* what, std::uint32_t size, const os::IdMap& named, const Spans& pool, const Spans& held) {
  const auto ours = outside_of(named);
  // Outside the pool they are the host's own, for as many containers as name them.
  if (const auto taken = common(common(ours, pool), held); !taken.empty()) {
    throw Error(Code::conflict, fmt::format("the container cannot have {} {} of the host", what, taken.front().first))
        .because("another container holds it")
        .advise(
            "name numbers that are not handed out: neither those of `containers` in /etc/subuid, nor the node's own");
  }
  const auto from = without(without(pool, held), ours);
  const auto inside = without({{0, size}}, inside_of(named));
  if (sum(from) < sum(inside)) {
    throw Error(Code::exhausted, fmt::format("too few {} are left for a user namespace", what))
        .because(fmt::format("needs {}, {} of {} are free", sum(inside), sum(from), sum(pool)))
        .advise(
            "stop a container with userns = \"auto\", ask for fewer (\"auto:size=…\"), or give `containers` more in "
            "/etc/subuid and /etc/subgid");
  }
  os::IdMap map;
  auto source = from.begin();
  std::uint32_t used = 0;
  for (const auto& span : inside) {
    for (std::uint32_t done = 0; done < span.count;) {
      const auto count = std::min(span.count - done, source->count - used);
      map.push_back({span.first + done, source->first + used, count});
      done += count;
      used += count;
      if (used == source->count) {
        ++source;
        used = 0;
      }
    }
  }
  map.insert(map.end(), named.begin(), named.end());
  return map;
}

/// As an entry's context: users, a line with a dash, groups.
constexpr std::string_view kBetween = "-\n";

std::string to_context(const IdMaps& maps) {
  return os::to_text(maps.uids) + std::string(kBetween) + os::to_text(maps.gids);
}
IdMaps parse_context(std::string_view text) {
  const auto at = text.find(kBetween);
  if (at == std::string_view::npos) return {};
  return {os::parse_id_map(text.substr(0, at)), os::parse_id_map(text.substr(at + kBetween.size()))};
}

/// Every number of ours, as itself.
os::IdMap identity(const char* own_map) {
  auto map = os::parse_id_map(os::read_file(own_map));
  for (auto& range : map) range.outside = range.inside;
  return map;
}

}  // namespace

IdPool pool_of(std::string_view subuid, std::string_view subgid) { return {spans_of(subuid), spans_of(subgid)}; }

IdMaps allot_ids(const UserNamespace& wanted, const IdPool& pool, const std::vector<IdMaps>& held) {
  os::IdMap uids, gids;
  for (const auto& maps : held) {
    uids.insert(uids.end(), maps.uids.begin(), maps.uids.end());
    gids.insert(gids.end(), maps.gids.begin(), maps.gids.end());
  }
  return {allot("users", wanted.size, wanted.uids, pool.uids, outside_of(uids)),
          allot("groups", wanted.size, wanted.gids, pool.gids, outside_of(gids))};
}

IdMaps take_ids(const UserNamespace& wanted, os::Ledger& ledger, const std::string& owner,
                const std::string& directory) {
  if (wanted.mode == UserNamespace::Mode::host) return {};
  if (wanted.mode == UserNamespace::Mode::keep_id)
    return {identity("/proc/self/uid_map"), identity("/proc/self/gid_map")};
  const auto pool = pool_of(os::find_file("/etc/subuid").value_or(""), os::find_file("/etc/subgid").value_or(""));
  // From looking who has what until it is written down. One for all ledgers: a process has one.
  static std::mutex turn;
  const std::lock_guard lock(turn);
  std::vector<IdMaps> held;
  for (const auto& open : ledger.unsettled()) {
    if (open.item.kind != kIds) continue;
    if (os::exists(open.item.object))
      held.push_back(parse_context(open.item.context));
    else
      ledger.settle(open.id);  // its agent was killed while it cleared away
  }
  auto maps = allot_ids(wanted, pool, held);
  static_cast<void>(
      ledger.record({.kind = std::string(kIds), .object = directory, .context = to_context(maps), .owner = owner}));
  return maps;
}

}  // namespace underway::pod
