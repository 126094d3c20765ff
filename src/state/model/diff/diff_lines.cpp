#include "model/diff/diff.hpp"

#include "base/text.hpp"

namespace underway::model {
namespace {

/// Beyond this many compared pairs the middle of the texts counts as replaced as a whole: 4M pairs are 16 MB of table.
constexpr std::size_t kMaxPairs = 4'000'000;

enum class Step : char { same = ' ', removed = '-', added = '+' };

struct Edit {
  Step step;
  const std::string* line;
};

std::vector<std::string> lines_of(std::string_view text) {
  if (text.empty()) return {};
  if (text.back() == '\n') text.remove_suffix(1);
  return split(text, '\n');
}

/// The middle part, after common beginnings and ends were taken off, by longest common subsequence.
void align(std::span<const std::string> a, std::span<const std::string> b, std::vector<Edit>& out) {
  const std::size_t width = b.size() + 1;
  if (a.size() * width > kMaxPairs) {
    for (const auto& line : a) out.push_back({Step::removed, &line});
    for (const auto& line : b) out.push_back({Step::added, &line});
    return;
  }
  std::vector<std::uint32_t> common((a.size() + 1) * width, 0);  // common[i][j]: of the suffixes from i and j
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i * width + j] = a[i] == b[j] ? common[(i + 1) * width + j + 1] + 1
                                           : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      out.push_back({Step::same, &a[i]});
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      out.push_back({Step::removed, &a[i++]});
    } else {
      out.push_back({Step::added, &b[j++]});
    }
  }
}

std::vector<Edit> edits(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  std::vector<Edit> out;
  out.reserve(a.size() + b.size() - head - tail);
  for (std::size_t i = 0; i < head; ++i) out.push_back({Step::same, &a[i]});
  align(std::span(a).subspan(head, a.size() - head - tail), std::span(b).subspan(head, b.size() - head - tail), out);
  for (std::size_t i = a.size() - tail; i < a.size(); ++i) out.push_back({Step::same, &a[i]});
  return out;
}

/// "3" for one line at 3, "3,4" for four from 3, "2,0" for none after line 2, as unified diffs count.
std::string range_text(std::size_t before_first, std::size_t count) {
  if (count == 1) return fmt::format("{}", before_first + 1);
  return fmt::format("{},{}", count == 0 ? before_first : before_first + 1, count);
}

}  // namespace

std::vector<std::string> diff_lines(std::string_view before, std::string_view after, std::size_t context) {
  const auto a = lines_of(before), b = lines_of(after);
  const auto all = edits(a, b);
  std::vector<std::string> out;
  std::size_t line_a = 0, line_b = 0;  // lines of either side before all[begin]
  std::size_t begin = 0;
  while (true) {
    std::size_t first = begin;
    while (first < all.size() && all[first].step == Step::same) ++first;
    if (first == all.size()) return out;
    const std::size_t start = first - std::min(context, first - begin);
    line_a += start - begin;
    line_b += start - begin;
    // A hunk ends where more than twice the context is unchanged.
    std::size_t end = first, quiet = 0;
    for (std::size_t i = first; i < all.size() && quiet <= 2 * context; ++i) {
      quiet = all[i].step == Step::same ? quiet + 1 : 0;
      if (quiet == 0) end = i + 1;
    }
    end = std::min(end + context, all.size());
    const auto count = [&](Step other) {
      return static_cast<std::size_t>(std::count_if(all.begin() + static_cast<std::ptrdiff_t>(start),
                                                    all.begin() + static_cast<std::ptrdiff_t>(end),
                                                    [&](const Edit& e) { return e.step != other; }));
    };
    const std::size_t count_a = count(Step::added), count_b = count(Step::removed);
    out.reserve(out.size() + 1 + end - start);
    out.push_back(fmt::format("@@ -{} +{} @@", range_text(line_a, count_a), range_text(line_b, count_b)));
    for (std::size_t i = start; i < end; ++i) out.push_back(static_cast<char>(all[i].step) + *all[i].line);
    line_a += count_a;
    line_b += count_b;
    begin = end;
  }
}

}  // namespace underway::model
