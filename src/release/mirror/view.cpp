#include "mirror/view.hpp"

#include <algorithm>

namespace underway::mirror {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const SuiteView* View::find(std::string_view suite) const {
  const auto at = std::find_if(suites.begin(), suites.end(), [&](const auto& it) { return it.suite == suite; });
  return at == suites.end() ? nullptr : &*at;
}

const Structure& description(Tag<IndexView>) {
  static const Structure s = Builder<IndexView>("index view", "What a mirror has taken of an index.")
                                 .wire<&IndexView::component>("Component", "The component.")
                                 .wire<&IndexView::architecture>("Architecture", "The architecture.")
                                 .wire<&IndexView::upstream>("Upstream", "SHA-256 of upstream's index.")
                                 .wire<&IndexView::list>("List", "SHA-256 of what is taken of it.")
                                 .wire<&IndexView::packages>("Packages", "How many packages are taken.")
                                 .wire<&IndexView::bytes>("Bytes", "Bytes of their files.")
                                 .done();
  return s;
}

const Structure& description(Tag<SuiteView>) {
  static const Structure s = Builder<SuiteView>("suite view", "What a mirror has of a suite.")
                                 .wire<&SuiteView::suite>("Suite", "Its name, as it was asked for.")
                                 .wire<&SuiteView::release>("Release", "SHA-256 of what upstream signed.")
                                 .wire<&SuiteView::origin>("Origin", "Whose it is, as upstream says.")
                                 .wire<&SuiteView::label>("Label", "What upstream calls it.")
                                 .wire<&SuiteView::codename>("Codename", "Its name that stays.")
                                 .wire<&SuiteView::version>("Version", "Its version, as upstream says.")
                                 .wire<&SuiteView::date>("Date", "When upstream made it, in seconds since the epoch.")
                                 .wire<&SuiteView::etag>("ETag", "What upstream's server said of it.")
                                 .wire<&SuiteView::modified>("Modified", "Since when it stands there.")
                                 .wire<&SuiteView::indexes>("Indexes", "What is taken of its indexes.")
                                 .done();
  return s;
}

const Structure& description(Tag<View>) {
  static const Structure s = Builder<View>("view", "What a mirror holds.")
                                 .wire<&View::selection>("Selection", "Digest of what was to be taken.")
                                 .wire<&View::suites>("Suites", "Its suites.")
                                 .done();
  return s;
}

}  // namespace underway::mirror
