#include "filter/detail/tree.hpp"

namespace underway::filter {

struct Expression::Impl {
  detail::Node root;
  detail::Budget budget;
};

Expression::Expression(std::string_view text) : impl_(std::make_unique<Impl>()) { impl_->root = detail::parse(text); }
Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;

bool Expression::matches(const Datum& datum) const {
  impl_->budget.begin_row();
  return detail::evaluate(impl_->root, datum, impl_->budget);
}

}  // namespace underway::filter
