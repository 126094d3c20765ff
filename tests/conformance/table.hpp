#pragma once
/// @file
/// The page docs/reference/compatibility.md, drawn from what was measured.

#include <map>
#include <string>
#include <vector>

namespace underway::conformance {

enum class Verdict { supported, refused, not_yet };

struct Row {
  std::vector<std::string> cells;
  Verdict verdict = Verdict::supported;
  std::string note;
};

struct Section {
  std::string title;
  std::string introduction;
  std::vector<std::string> columns;  ///< of the cells; verdict and note are added
  std::vector<Row> rows;
};

/// The page: the sums first, then what stands between us and the whole, then every row.
std::string page(const std::vector<Section>& sections, const std::string& differences);

}  // namespace underway::conformance
