#pragma once
/// @file
/// The one exception type. An Error says what failed and on what; callers add why, what was being done, and the next
/// step, and the boundary (a request, a command, a task) prints it once.

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace underway {

/// One value per reaction a caller can have; mapped once to an HTTP status and to an exit code.
enum class Code {
  invalid,      ///< the request or file is wrong: mend it (400)
  denied,       ///< no right to do this (403)
  not_found,    ///< the thing does not exist (404)
  conflict,     ///< the state has moved on, or somebody else holds it (409)
  too_large,    ///< a limit on input was exceeded (413)
  exhausted,    ///< no space, memory, ports or other resource left (507)
  unavailable,  ///< a peer or daemon cannot be reached now: try again (503)
  timeout,      ///< the deadline passed (504)
  unsupported,  ///< understood, and not done here (501)
  internal,     ///< our own bug or an unexpected answer of the system (500)
};

/// The spelling used on the wire and in logs, e.g. "not_found".
std::string_view to_string(Code code);
/// HTTP status of `code`, as listed at the enumerators.
int http_status(Code code);

class Error : public std::exception {
 public:
  Error(Code code, std::string what);

  /// Adds the cause, with checkable numbers: "needs 18.4 GiB, /var has 2.1 GiB free".
  Error& because(std::string why) &;
  Error&& because(std::string why) &&;
  /// Each of them.
  Error& because(const std::vector<std::string>& reasons) &;
  Error&& because(const std::vector<std::string>& reasons) &&;
  /// Adds the one next step of the operator.
  Error& advise(std::string next_step) &;
  Error&& advise(std::string next_step) &&;
  /// Adds the surrounding activity; the outermost is added last.
  Error& while_doing(std::string activity) &;
  Error&& while_doing(std::string activity) &&;

  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& reasons() const { return reasons_; }
  const std::vector<std::string>& activities() const { return activities_; }
  const std::string& advice() const { return advice_; }

  /// The message alone on one line with its reasons, for one-line contexts: "cannot open 'x': No such file (ENOENT)".
  std::string one_line() const;
  /// What the operator reads: `error:`, `why:`, `while:` and `do:` lines.
  std::string text() const;
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  void refresh();

  Code code_;
  std::string message_;
  std::vector<std::string> reasons_;
  std::vector<std::string> activities_;
  std::string advice_;
  std::string what_;
};

/// A failed system call: `what` names operation and object; errno becomes code and reason ("… (ENOENT)").
Error errno_error(int error_number, std::string what);

/// The symbolic name of an errno value, e.g. "ENOENT"; its number when unknown.
std::string errno_name(int error_number);

}  // namespace underway
