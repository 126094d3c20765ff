#pragma once
/// @file
/// A trace, line by line, each of bounded length.

#include "elastic/trace/trace.hpp"

#include <istream>

namespace underway::elastic::detail {

class TraceLines {
 public:
  TraceLines(std::istream& in, TraceProblems& problems) : in_(in), problems_(problems) {}

  /// The next line, without its end; false at the end. One that is too long is a problem, and passed over.
  bool next(std::string& line);
  std::size_t number() const { return number_; }
  void problem(std::string_view what) { problems_.add(number_, what); }

 private:
  std::istream& in_;
  TraceProblems& problems_;
  std::size_t number_ = 0;
};

/// Sorts, and refuses what is too much.
void finish(Trace& trace);
bool has_room(const Trace& trace, TraceLines& lines);

}  // namespace underway::elastic::detail
