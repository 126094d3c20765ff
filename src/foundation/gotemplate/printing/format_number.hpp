#pragma once
/// @file
/// Numbers as Go's strconv and fmt write them.

#include <cstdint>
#include <string>
#include <string_view>

namespace underway::gotemplate {

/// strconv.FormatFloat; `verb` is one of e, E, f, F, g, G, x, X; `precision` -1: as many digits as it takes. `sharp`
/// keeps the trailing zeros of %g (fmt's '#').
std::string format_real(double value, char verb, int precision, bool sharp = false);
/// Digits of `value` in `base` 2, 8, 10 or 16, lower case.
std::string format_natural(std::uint64_t value, unsigned base);

}  // namespace underway::gotemplate
