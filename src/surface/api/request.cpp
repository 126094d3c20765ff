#include "api/request.hpp"

namespace underway::api {

Error permission_denied(const acl::Identity& caller, const Need& need) {
  Error error(Code::denied, acl::kPermissionDenied);
  if (need.right.kind == Right::Kind::in_namespace && need.ns != "*")
    error.because(fmt::format("this needs {} in namespace '{}'", spell(need.right), need.ns));
  else
    error.because(fmt::format("this needs {}", spell(need.right)));
  if (caller.kind == acl::Identity::Kind::anonymous) error.because("no token was sent");
  return error;
}

void Request::require(const Right& right, std::string ns, std::string path) const {
  Need need{right, std::move(ns), std::move(path)};
  if (!allows(rights(), need)) throw permission_denied(*caller, need);
  if (!caller->is_permanent()) needs->push_back(std::move(need));
}

void Request::about(tables::Scope subject) const {
  if (audit) audit->about(std::move(subject));
}

void Request::made(tables::Scope subject) const {
  if (audit) audit->made(std::move(subject));
}

void Request::tell(std::string text) const {
  if (audit) audit->add(std::move(text));
}

bool Request::lists(std::string_view ns) const {
  const auto asked = query.find("namespace");
  if (!asked || asked->empty()) return ns == "default";
  if (*asked != "*") return *asked == ns;
  if (needs->empty()) return true;  // a caller who may do everything
  Need need = needs->front();
  need.ns = ns;
  return allows(rights(), need);
}

}  // namespace underway::api
