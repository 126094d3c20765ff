#include "adoption/division/flow_picture.hpp"

#include <cmath>

#include "adoption/division/division_html.hpp"
#include "base/text.hpp"

namespace underway::adoption {
namespace {

constexpr int kWidth = 960;
constexpr int kRow = 38;
constexpr int kTop = 34;
constexpr int kNodesRight = 150;
constexpr int kServiceLeft = 350;
constexpr int kServiceRight = 610;
constexpr int kOutsideLeft = 820;

class Picture {
 public:
  explicit Picture(const Division& division) : division_(division) {
    for (const auto& service : division.services) {
      rows_[service.name] = static_cast<int>(rows_.size());
      most_ = std::max(most_, service.bytes);
      nodes_ = std::max(nodes_, service.nodes);
    }
  }

  std::string draw() {
    const int height = kTop + kRow * std::max<int>(static_cast<int>(rows_.size()), 2) + 14;
    out_ = fmt::format(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Who opens what\">\n"
        "<defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
        "markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>\n",
        kWidth, height);
    column(20, kNodesRight, "nodes", nodes_ > 0 ? fmt::format("{}", nodes_) : "", height);
    if (reaches_outside()) column(kOutsideLeft, kWidth - 20, "outside", "", height);
    out_ += fmt::format("<text class=\"head\" x=\"{}\" y=\"20\" text-anchor=\"middle\">{}</text>\n",
                        (kServiceLeft + kServiceRight) / 2, escape_html(division_.host));
    for (const auto& service : division_.services) arrows(service);
    for (const auto& service : division_.services) arcs(service);
    for (const auto& service : division_.services) box(service);
    return std::move(out_) + "</svg>\n";
  }

 private:
  static bool goes_outside(const Service& service) {
    return service.opened_by == OpenedBy::routed || service.opened_by == OpenedBy::outsiders ||
           service.opened_by == OpenedBy::outward;
  }
  bool reaches_outside() const {
    return std::any_of(division_.services.begin(), division_.services.end(), goes_outside);
  }

  int middle(const Service& service) const { return kTop + rows_.at(service.name) * kRow + kRow / 2; }

  /// From 1.2 for a few bytes to 9 for the most.
  double breadth(const Service& service) const {
    if (most_ <= 0) return 1.2;
    const double share = std::log1p(static_cast<double>(std::max<std::int64_t>(service.bytes, 0))) /
                         std::log1p(static_cast<double>(most_));
    return 1.2 + 7.8 * share * share * share;
  }

  void column(int left, int right, std::string_view title, const std::string& count, int height) {
    out_ += fmt::format("<rect class=\"side\" x=\"{}\" y=\"28\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n", left,
                        right - left, height - 36);
    out_ += fmt::format("<text class=\"head\" x=\"{}\" y=\"20\" text-anchor=\"middle\">{} {}</text>\n",
                        (left + right) / 2, title, count);
  }

  void line(const Service& service, int from, int to, bool there, bool back) {
    const int y = middle(service);
    out_ += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke-width=\"{:.1f}\"{}{}/>\n",
                        service.critical ? "critical" : "deferrable", from, y, to, y, breadth(service),
                        there ? " marker-end=\"url(#to)\"" : "", back ? " marker-start=\"url(#to)\"" : "");
  }

  void arrows(const Service& service) {
    constexpr int kGap = 4;
    switch (service.opened_by) {
      case OpenedBy::nodes:
        return line(service, kNodesRight + kGap, kServiceLeft - kGap, true, false);
      case OpenedBy::server:
        return line(service, kNodesRight + kGap, kServiceLeft - kGap, false, true);
      case OpenedBy::both:
        return line(service, kNodesRight + kGap, kServiceLeft - kGap, true, true);
      case OpenedBy::routed:
        line(service, kNodesRight + kGap, kServiceLeft - kGap, true, false);
        return line(service, kServiceRight + kGap, kOutsideLeft - kGap, true, false);
      case OpenedBy::outsiders:
        return line(service, kServiceRight + kGap, kOutsideLeft - kGap, false, true);
      case OpenedBy::outward:
        return line(service, kServiceRight + kGap, kOutsideLeft - kGap, true, false);
      case OpenedBy::nobody:
        return;
    }
  }

  /// What it needs, on the right side of the services.
  void arcs(const Service& service) {
    for (const auto& need : service.needs) {
      const auto other = rows_.find(need);
      if (other == rows_.end()) continue;
      const int from = middle(service);
      const int to = kTop + other->second * kRow + kRow / 2;
      const int reach = kServiceRight + 26 + 9 * std::min(std::abs(from - to) / kRow, 12);
      out_ += fmt::format("<path class=\"needs\" d=\"M{0} {1} C{2} {1} {2} {3} {4} {3}\" marker-end=\"url(#to)\"/>\n",
                          kServiceRight, from, reach, to, kServiceRight + 4);
    }
  }

  void box(const Service& service) {
    const int y = middle(service);
    const char* kind = service.verdict == Verdict::unknown ? "unknown" : service.critical ? "critical" : "deferrable";
    out_ += fmt::format("<g class=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"28\" rx=\"5\"/>", kind,
                        kServiceLeft, y - 14, kServiceRight - kServiceLeft);
    std::string doors = join(service.doors, " ");
    if (doors.size() > 24) doors = doors.substr(0, doors.find(' ', 12)) + " …";
    if (display_limit(service.title) < service.title.size()) doors.clear();
    out_ += fmt::format(
        "<text x=\"{}\" y=\"{}\">{}</text><text class=\"doors\" x=\"{}\" y=\"{}\" "
        "text-anchor=\"end\">{}</text></g>\n",
        kServiceLeft + 10, y + 5, escape_html(service.title.substr(0, display_limit(service.title))), kServiceRight - 8,
        y + 4, escape_html(doors));
  }

  /// At most 32 bytes of a title, and never a part of a character.
  static std::size_t display_limit(std::string_view title) {
    std::size_t end = std::min<std::size_t>(title.size(), 32);
    while (end < title.size() && end > 0 && (static_cast<unsigned char>(title[end]) & 0xC0) == 0x80) --end;
    return end;
  }

  const Division& division_;
  std::map<std::string, int> rows_;
  std::int64_t most_ = 0;
  std::int64_t nodes_ = 0;
  std::string out_;
};

}  // namespace

std::string flow_picture(const Division& division) { return Picture(division).draw(); }

}  // namespace underway::adoption
