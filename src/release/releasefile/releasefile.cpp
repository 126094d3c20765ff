#include "releasefile/releasefile.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "hcl/parse/parser.hpp"
#include "http/endpoint.hpp"
#include "jobspec/decode.hpp"
#include "model/job/cron.hpp"
#include "package/query.hpp"

namespace underway::releasefile {
namespace {

/// They are parts of paths and of URLs.
constexpr std::size_t kLongestName = 63;
constexpr std::int64_t kHighestPriority = 1000;  ///< above it apt puts older packages in the place of newer ones

bool is_plain(std::string_view name) {
  const auto plain = [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '-'; };
  return !name.empty() && name.size() <= kLongestName && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), plain);
}

/// A word of a Release file: it becomes a part of a path, too.
bool is_word(std::string_view word) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/'; };
  return !word.empty() && word.front() != '/' && word.front() != '.' && word.find("..") == std::string_view::npos &&
         word.size() <= 128 && std::all_of(word.begin(), word.end(), fits);
}

/// Where the attribute stands, or the block that lacks it.
hcl::Range place_of(const jobspec::Site& site, std::string_view attribute) {
  const auto* found = site.content.find(attribute);
  return found != nullptr ? found->range : site.header;
}

class Checks {
 public:
  explicit Checks(const jobspec::Site& site) : site_(site) {}

  void name(std::string_view name) const {
    if (!is_plain(name))
      site_.diagnostics.error(site_.header, fmt::format("'{}' is no name", name),
                              "it becomes a part of a path: up to 63 lower-case letters, digits and '-'");
  }
  void words(std::string_view attribute, const std::vector<std::string>& all) const {
    for (const auto& word : all) {
      if (!is_word(word)) error(attribute, fmt::format("'{}' cannot stand in {}", word, attribute));
    }
  }
  void given(std::string_view attribute, bool is_given, std::string what) const {
    if (!is_given) error(attribute, fmt::format("{} is missing", attribute), std::move(what));
  }
  void not_of(std::string_view attribute, bool is_given, Format format) const {
    if (is_given)
      error(attribute, fmt::format("{} has no meaning for {}", attribute, format == Format::deb ? "deb" : "rpm"),
            "leave it out");
  }
  void error(std::string_view attribute, std::string what, std::string advice = {}) const {
    site_.diagnostics.error(place_of(site_, attribute), std::move(what), "", std::move(advice));
  }
  bool is_written(std::string_view attribute) const { return site_.content.find(attribute) != nullptr; }

 private:
  const jobspec::Site& site_;
};

void check_url(const Checks& checks, const Mirror& mirror) {
  const std::string_view url = mirror.url;
  if (url.starts_with("file:///") && url.find("..") == std::string_view::npos) return;
  try {
    if (url.starts_with("http://") || url.starts_with("https://")) {
      http::parse_url(url);
      return;
    }
    checks.error("url", fmt::format("'{}' is not fetched from", url), "http, https, or file:///DIRECTORY");
  } catch (const Error& error) {
    checks.error("url", error.one_line(), "http, https, or file:///DIRECTORY");
  }
}

void check_schedule(const Checks& checks, const Mirror& mirror) {
  if (mirror.schedule.empty()) return;
  try {
    model::Cron::parse(mirror.schedule);
  } catch (const Error& error) {
    checks.error("schedule", error.one_line(), "as cron has it: \"30 3 * * *\", or \"@daily\"");
  }
}

void check_query(const Checks& checks, std::string_view attribute, const std::string& text) {
  try {
    package::parse_query(text);
  } catch (const Error& error) {
    checks.error(attribute, error.one_line(), "as `slurm-wlm (>= 22.05)`, or `Name (% linux-image-*)`");
  }
}

void check_mirror(const Mirror& mirror, const jobspec::Site& site) {
  const Checks checks(site);
  checks.name(mirror.name);
  checks.given("url", !mirror.url.empty(), "where upstream has it");
  if (!mirror.url.empty()) check_url(checks, mirror);
  checks.given("keys", !mirror.keys.empty(), "upstream's keys: what nobody has signed is not taken");
  const bool deb = mirror.format == Format::deb;
  if (deb) checks.given("suites", !mirror.suites.empty(), "suites = [\"bookworm\"]");
  if (!deb) checks.not_of("suites", checks.is_written("suites"), mirror.format);
  if (!deb) checks.not_of("components", checks.is_written("components"), mirror.format);
  checks.words("suites", mirror.suites);
  checks.words("components", mirror.components);
  checks.words("architectures", mirror.architectures);
  checks.given("architectures", !mirror.architectures.empty(), "architectures = [\"amd64\"]");
  if (mirror.max_age < Duration{0}) checks.error("max_age", "max_age is less than nothing");
  check_schedule(checks, mirror);
  if (!mirror.filter.empty()) check_query(checks, "filter", mirror.filter);
  for (const auto& query : mirror.leave) check_query(checks, "leave", query);
}

void check_repository(const Repository& repository, const jobspec::Site& site) {
  const Checks checks(site);
  checks.name(repository.name);
  if (repository.priority < 1 || repository.priority > kHighestPriority)
    checks.error("priority",
                 fmt::format("a priority of {} is not within 1 and {}", repository.priority, kHighestPriority),
                 "with more than 1000 apt would put older packages in the place of newer ones");
}

void check_tier(const Tier& tier, const jobspec::Site& site) {
  const Checks checks(site);
  checks.name(tier.name);
  checks.given("sources", !tier.from.empty() || !tier.sources.empty(), "mirrors and repositories, or from = \"TIER\"");
  // Signed anew when half of it is over: less than a day is no time for a server that is away over night.
  if (tier.valid_for < std::chrono::hours(24))
    checks.error("valid_for", "valid_for is less than a day", "nodes refuse what is not signed anew in time");
  if (tier.keep < 1 || tier.keep > 1000)
    checks.error("keep", fmt::format("{} releases are not kept", tier.keep), "1 to 1000");
}

/// What only the whole file tells, at the places of the blocks.
class Together {
 public:
  Together(const Releases& all, const jobspec::Site& site) : all_(all), site_(site) {
    for (const auto* type : {"mirror", "repository", "tier"}) {
      for (const auto* block : site.content.blocks_of(type)) places_[type].push_back(block->range);
    }
  }

  void check() {
    for (std::size_t i = 0; i < all_.mirrors.size(); ++i) check_once("mirror", i, all_.mirrors[i].name, sources_);
    for (std::size_t i = 0; i < all_.repositories.size(); ++i)
      check_once("repository", i, all_.repositories[i].name, sources_);
    for (std::size_t i = 0; i < all_.tiers.size(); ++i) check_tier_at(i);
  }

 private:
  hcl::Range at(const std::string& type, std::size_t index) const {
    const auto found = places_.find(type);
    return found != places_.end() && index < found->second.size() ? found->second[index] : site_.header;
  }
  void check_once(const std::string& type, std::size_t index, const std::string& name, std::set<std::string>& known) {
    if (!known.insert(name).second)
      site_.diagnostics.error(at(type, index), fmt::format("a second '{}'", name),
                              "mirrors and repositories are named by tiers, and each has a name of its own");
  }

  void check_tier_at(std::size_t index) {
    const auto& tier = all_.tiers[index];
    const auto place = at("tier", index);
    check_once("tier", index, tier.name, tiers_);
    for (const auto& pool : tier.pools) {
      const auto [other, first] = pools_.emplace(pool, tier.name);
      if (!first)
        site_.diagnostics.error(place, fmt::format("pool '{}' follows tier '{}' already", pool, other->second), "",
                                "a host follows one tier");
    }
    const Tier* from = tier.from.empty() ? nullptr : all_.find_tier(tier.from);
    if (!tier.from.empty() && from == nullptr)
      site_.diagnostics.error(place, fmt::format("there is no tier '{}'", tier.from), "", suggest_tier(tier.from));
    for (const auto& source : tier.sources) check_source(tier, from, source, place);
    if (is_in_a_ring(tier))
      site_.diagnostics.error(place, fmt::format("tier '{}' takes its releases from itself", tier.name),
                              "going by `from` from tier to tier one comes back to it");
  }

  void check_source(const Tier& tier, const Tier* from, const std::string& source, const hcl::Range& place) const {
    if (all_.find_mirror(source) == nullptr && all_.find_repository(source) == nullptr) {
      site_.diagnostics.error(place, fmt::format("there is neither a mirror nor a repository '{}'", source));
      return;
    }
    if (from == nullptr || from->sources.empty()) return;
    if (std::find(from->sources.begin(), from->sources.end(), source) == from->sources.end())
      site_.diagnostics.error(place, fmt::format("tier '{}' has no '{}'", tier.from, source),
                              fmt::format("tier '{}' has what was tried in that one, and nothing else", tier.name));
  }

  bool is_in_a_ring(const Tier& tier) const {
    const Tier* next = &tier;
    for (std::size_t steps = 0; steps <= all_.tiers.size(); ++steps) {
      if (next->from.empty()) return false;
      next = all_.find_tier(next->from);
      if (next == nullptr) return false;
      if (next == &tier) return true;
    }
    return false;  // another's ring
  }

  std::string suggest_tier(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& tier : all_.tiers) names.push_back(tier.name);
    return hcl::suggest(name, names);
  }

  const Releases& all_;
  const jobspec::Site& site_;
  std::map<std::string, std::vector<hcl::Range>> places_;
  std::set<std::string> sources_, tiers_;
  std::map<std::string, std::string> pools_;  ///< the tier that a pool follows
};

template <class T>
jobspec::Extension checked(void (*check)(const T&, const jobspec::Site&)) {
  return {.finish = [check](void* object, const jobspec::Site& site) { check(*static_cast<const T*>(object), site); }};
}

void check_together(const Releases& all, const jobspec::Site& site) { Together(all, site).check(); }

}  // namespace

Releases parse_releases(std::string_view text, const std::string& name, const hcl::Context& context,
                        hcl::Diagnostics& diagnostics) {
  const auto body = hcl::parse(std::string(text), name, diagnostics);
  if (diagnostics.has_errors()) return {};
  const jobspec::Dialect dialect{{"mirror", checked(&check_mirror)},
                                 {"repository", checked(&check_repository)},
                                 {"tier", checked(&check_tier)},
                                 {"releases", checked(&check_together)}};
  return jobspec::decode<Releases>(body, context, diagnostics, dialect);
}

}  // namespace underway::releasefile
