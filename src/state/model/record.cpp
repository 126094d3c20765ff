#include "model/record.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<Record>) {
  static const Structure s = Builder<Record>("record", "A row of a capability.")
                                 .wire<&Record::kind>("Kind", "What it is.")
                                 .wire<&Record::name>("Name", "Its name, unique within its kind.")
                                 .wire<&Record::body>("Body", "What it says.")
                                 .wire<&Record::create_index>("CreateIndex", "Revision in which it was made.")
                                 .wire<&Record::modify_index>("ModifyIndex", "Revision in which it last changed.")
                                 .done();
  return s;
}

}  // namespace underway::model
