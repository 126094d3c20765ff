#include "base/error.hpp"
#include "base/json/enumerators.hpp"

#include <cerrno>
#include <cstring>

namespace underway {

std::string_view to_string(Code code) { return name_of(code); }

int http_status(Code code) {
  switch (code) {
    case Code::invalid:
      return 400;
    case Code::denied:
      return 403;
    case Code::not_found:
      return 404;
    case Code::conflict:
      return 409;
    case Code::too_large:
      return 413;
    case Code::exhausted:
      return 507;
    case Code::unavailable:
      return 503;
    case Code::timeout:
      return 504;
    case Code::unsupported:
      return 501;
    case Code::internal:
      return 500;
  }
  return 500;
}

Error::Error(Code code, std::string what) : code_(code), message_(std::move(what)) { refresh(); }

Error& Error::because(std::string why) & {
  reasons_.push_back(std::move(why));
  refresh();
  return *this;
}
Error&& Error::because(std::string why) && { return std::move(because(std::move(why))); }

Error& Error::because(const std::vector<std::string>& reasons) & {
  reasons_.insert(reasons_.end(), reasons.begin(), reasons.end());
  refresh();
  return *this;
}
Error&& Error::because(const std::vector<std::string>& reasons) && { return std::move(because(reasons)); }

Error& Error::advise(std::string next_step) & {
  advice_ = std::move(next_step);
  return *this;
}
Error&& Error::advise(std::string next_step) && { return std::move(advise(std::move(next_step))); }

Error& Error::while_doing(std::string activity) & {
  activities_.push_back(std::move(activity));
  return *this;
}
Error&& Error::while_doing(std::string activity) && { return std::move(while_doing(std::move(activity))); }

std::string Error::one_line() const {
  std::string line = message_;
  for (const auto& reason : reasons_) line += ": " + reason;
  return line;
}

std::string Error::text() const {
  std::string text = "error: " + message_;
  for (const auto& reason : reasons_) text += "\n  why:   " + reason;
  for (const auto& activity : activities_) text += "\n  while: " + activity;
  if (!advice_.empty()) text += "\n  do:    " + advice_;
  return text;
}

void Error::refresh() { what_ = one_line(); }

std::string errno_name(int error_number) {
  const char* name = ::strerrorname_np(error_number);
  return name != nullptr ? name : fmt::format("errno {}", error_number);
}

Error errno_error(int error_number, std::string what) {
  const Code code = [&] {
    switch (error_number) {
      case ENOENT:
      case ENOTDIR:
      case ESRCH:
        return Code::not_found;
      case EACCES:
      case EPERM:
        return Code::denied;
      case EEXIST:
      case EBUSY:
      case ENOTEMPTY:
      case EADDRINUSE:
        return Code::conflict;
      case ENOSPC:
      case EDQUOT:
      case ENOMEM:
      case EMFILE:
      case ENFILE:
        return Code::exhausted;
      case ECONNREFUSED:
      case ECONNRESET:
      case EPIPE:
      case ENETUNREACH:
      case EHOSTUNREACH:
        return Code::unavailable;
      case ETIMEDOUT:
        return Code::timeout;
      case EINVAL:
      case ENAMETOOLONG:
        return Code::invalid;
      case ENOSYS:
      case EOPNOTSUPP:
        return Code::unsupported;
      default:
        return Code::internal;
    }
  }();
  return Error(code, std::move(what))
      .because(fmt::format("{} ({})", ::strerrordesc_np(error_number), errno_name(error_number)));
}

}  // namespace underway
