#include "wire/search/fuzzy_match.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<FuzzyMatch>) {
  static const Structure s = Builder<FuzzyMatch>("fuzzy match", "Something found by its name.")
                                 .wire<&FuzzyMatch::id>("ID", "Its name.")
                                 .wire<&FuzzyMatch::scope>("Scope", "Where it is, from the outside inwards.")
                                 .done();
  return s;
}

}  // namespace underway::wire
