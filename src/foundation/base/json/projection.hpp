#pragma once
/// @file
/// Descriptions of structs that show a part of another one: a job in a list has some of a job's members, and a few that
/// are worked out. The fields are listed once, each with the member that it comes from, and project() fills them in.
///     const describe::Projection<Job>& description(describe::Tag<JobStub>);
///     JobStub row = describe::project<JobStub>(job);

#include <functional>

#include "base/json/describe.hpp"

namespace underway::describe {

/// How a struct is written, and how it is made of a Source.
template <class Source>
struct Projection : Structure {
  std::vector<void (*)(void* to, const Source& from)> copies;
};

/// Writes a Projection, field by field, in the order of the wire and of the reference.
template <class T, class Source>
class Projector {
 public:
  Projector(std::string_view name, Sentence doc) : builder_(name, doc) {}

  /// A field that project() sets to `Of` of the source: a member, or what a function of it returns.
  template <auto Member, auto Of>
  Projector& from(std::string_view json, Sentence doc) {
    builder_.template wire<Member>(json, doc);
    copies_.push_back([](void* to, const Source& from) { static_cast<T*>(to)->*Member = std::invoke(Of, from); });
    return *this;
  }
  /// A field that project() leaves as it is made.
  template <auto Member>
  Projector& wire(std::string_view json, Sentence doc) {
    builder_.template wire<Member>(json, doc);
    return *this;
  }
  Projection<Source> done() { return {builder_.done(), std::move(copies_)}; }

 private:
  Builder<T> builder_;
  std::vector<void (*)(void* to, const Source& from)> copies_;
};

/// What T shows of `source`.
template <class T, class Source>
T project(const Source& source) {
  const Projection<Source>& projection = description(Tag<T>{});
  T shown;
  for (const auto copy : projection.copies) copy(&shown, source);
  return shown;
}

}  // namespace underway::describe
