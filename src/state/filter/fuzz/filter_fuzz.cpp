// Whatever the expression says: it is read or refused with a reason, and asked without end or crash. The same
// expression says the same of the same struct.
#include <cstdlib>

#include "base/error.hpp"
#include "filter/tests/boat.hpp"

namespace {

/// 0: no, 1: yes, 2: refused.
int answer(const underway::filter::Expression& expression, const underway::filter::testing::Boat& boat) {
  try {
    return expression.matches(boat) ? 1 : 0;
  } catch (const underway::Error& error) {
    if (error.message().empty()) std::abort();
    return 2;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway::filter;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const Expression expression(text);
    const auto full = underway::filter::testing::argo();
    if (answer(expression, full) != answer(expression, full)) std::abort();
    answer(expression, {});
  } catch (const underway::Error& error) {
    if (error.message().empty() || error.code() != underway::Code::invalid) std::abort();
  }
  return 0;
}
